"""Launch at login, through the system's own list: what the user turned off there stays off."""

from __future__ import annotations

from ServiceManagement import (
    SMAppService,
    SMAppServiceStatusEnabled,
    SMAppServiceStatusRequiresApproval,
)

from fazm_memory.macos.bundle import bundle_identifier

APPROVE = "macOS asks you to allow it: System Settings → General → Login Items."


def login_state() -> bool | None:
    """Whether we are launched at login; None where we are not an app that can be."""
    if bundle_identifier() is None:
        return None
    return bool(SMAppService.mainAppService().status() == SMAppServiceStatusEnabled)


def set_login(on: bool) -> str:
    """Turn it on or off; what a person should hear of it, if anything."""
    if bundle_identifier() is None:
        return "Only the app can be launched at login, not a plain Python program."
    service = SMAppService.mainAppService()
    done, error = service.registerAndReturnError_(None) if on else service.unregisterAndReturnError_(None)
    if on and service.status() == SMAppServiceStatusRequiresApproval:
        SMAppService.openSystemSettingsLoginItems()
        return APPROVE
    if not done:
        why = "no reason was given" if error is None else str(error.localizedDescription())
        return f"macOS refused: {why}"
    return ""
