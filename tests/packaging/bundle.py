"""A simulated app bundle, and its programs."""

from __future__ import annotations

import fcntl
import subprocess
import sys
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).parents[2]
PY2APP = Path(str(find_spec("py2app").origin)).parent  # type: ignore[union-attr]

# The stub of py2app gives Python a locale with an encoding while it starts, then the one of C again.
STUB_LOCALE = "import _locale; _locale.setlocale(_locale.LC_CTYPE, 'C')"


@dataclass(frozen=True)
class Bundle:
    path: Path

    @property
    def resources(self) -> Path:
        return self.path / "Contents" / "Resources"

    @property
    def programs(self) -> Path:
        return self.path / "Contents" / "MacOS"

    def run(
        self, *words: str, cwd: Path, env: dict[str, str], data: str | None = None, timeout: float = 240
    ) -> subprocess.CompletedProcess[str]:
        """The command line inside the app, as an agent or a person starts it."""
        command = [str(self.programs / "fazm-memory"), *words]
        return subprocess.run(
            command, cwd=cwd, env=env, input=data, capture_output=True, text=True, timeout=timeout
        )

    def write_boot(self, recipes: str, *, no_chdir: bool) -> None:
        """The boot script, put together as py2app does. `recipes` is what its recipes add."""
        names = ["reset_sys_path", *([] if no_chdir else ["chdir_resource"]), "disable_linecache", "boot_app"]
        parts = [STUB_LOCALE, *((PY2APP / "bootstrap" / f"{name}.py").read_text() for name in names)]
        scripts = {"fazm-memory": "fazm-memory.py"}
        parts += [recipes, f"DEFAULT_SCRIPT='app.py'\nSCRIPT_MAP={scripts!r}\n_run()\n"]
        (self.resources / "__boot__.py").write_text("\n\n".join(parts))

    def python(self, source: str, cwd: Path, env: dict[str, str]) -> subprocess.CompletedProcess[str]:
        """Python code inside the app, with the modules of the app."""
        command = [str(self.programs / "python"), "-c", source]
        inside = {"PYTHONHOME": str(self.resources), "PYTHONDONTWRITEBYTECODE": "1"}
        return subprocess.run(command, cwd=cwd, env=env | inside, capture_output=True, text=True, timeout=240)


def build_bundle(folder: Path) -> Bundle:
    """Build it once. Other test processes wait and use the same."""
    bundle, done = Bundle(folder / "Fazm Memory.app"), folder / "named-only-by-us"
    folder.mkdir(exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not done.exists():
            command = [sys.executable, "-m", "tests.packaging.bundle_layout", str(folder)]
            subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    return bundle
