"""The working set.

The watched folders, who changed a file, stored versions, and the foreground app.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fazm_memory.lazy import lazy_exports

if TYPE_CHECKING:
    from fazm_memory.watch import foreground_app, scope
    from fazm_memory.watch.attribution import (
        DiskChange,
        active_workspaces,
        attribute,
        content_after,
        recent_calls,
    )
    from fazm_memory.watch.foreground_app import (
        Available,
        DesktopSource,
        ForegroundRecorder,
        ForegroundWindow,
        HiddenWindow,
        OnObservation,
        RunOnMain,
        Unavailable,
        UnavailableReason,
        document_of,
        title_of,
    )
    from fazm_memory.watch.scanner import Scanner, ScanResult, changes_since_last_scan
    from fazm_memory.watch.scope import (
        WATCHER_STOPPED,
        WORKING,
        Exclusions,
        SessionFolders,
        forget_place,
        load_watched_folders,
        protected_folder,
        watched_roots,
    )
    from fazm_memory.watch.tree import IgnoreRules, Tree, TreeCheckpoints, scan
    from fazm_memory.watch.versions import SECRET_NAME, has_secret_name
    from fazm_memory.watch.watcher import FileWatcher
    from fazm_memory.watch.workspaces import FOLLOW_EVERY, WorkspaceWatcher

__getattr__ = lazy_exports(
    __name__,
    {
        "attribution": "DiskChange active_workspaces attribute content_after recent_calls",
        "foreground_app": (
            "Available DesktopSource ForegroundRecorder ForegroundWindow HiddenWindow OnObservation "
            "RunOnMain Unavailable UnavailableReason document_of title_of"
        ),
        "scanner": "ScanResult Scanner changes_since_last_scan",
        "tree": "IgnoreRules Tree TreeCheckpoints scan",
        "versions": "SECRET_NAME has_secret_name",
        "scope": (
            "Exclusions SessionFolders WATCHER_STOPPED WORKING forget_place load_watched_folders "
            "protected_folder watched_roots"
        ),
        "watcher": "FileWatcher",
        "workspaces": "FOLLOW_EVERY WorkspaceWatcher",
    },
)
