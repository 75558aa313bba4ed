"""The packages of this tree, built once for all tests here, and empty environments to install them into."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support.bounds import bound
from tools.build_packages import build

ROOT = Path(__file__).parents[2]
MINUTES_S = bound(900)
"""pip downloads and compilers run here; a hang ends after this."""


class Installed:
    """An environment that had nothing in it but what a package brought."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.python = folder / "bin" / "python"
        self.kctl = folder / "bin" / "kctl"

    def run(self, *command: str, environ: dict[str, str] | None = None) -> str:
        """Run a program of the environment away from this tree, and return what it printed."""
        done = subprocess.run(
            command, cwd=self.folder, env=environ or bare_environ(), capture_output=True, text=True, timeout=MINUTES_S
        )
        assert done.returncode == 0, f"{command}: {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done.stdout


def tracked() -> set[str]:
    """Return the files of this tree that git tracks."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return {name for name in listed.split("\0") if name and (ROOT / name).is_file()}


def clone_into(folder: Path) -> Path:
    """Copy the files that git tracks, and return the folder."""
    for name in tracked():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, folder / name)
    return folder


def bare_environ() -> dict[str, str]:
    """Return our variables without those that would lead to this tree."""
    return {name: value for name, value in os.environ.items() if not name.startswith(("KCTL_", "PYTHON"))}


@pytest.fixture(scope="session")
def packages(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Every kind of package; those in $KCTL_PACKAGES where somebody has just built them."""
    ready = os.environ.get("KCTL_PACKAGES")
    if ready:
        return sorted(path for path in Path(ready).resolve().iterdir() if not path.name.startswith("."))
    return sorted(build(tmp_path_factory.mktemp("packages")))


@pytest.fixture(scope="session")
def install(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Installed]]:
    """Return what makes an empty environment and installs one package into it."""
    folders: list[Path] = []

    def make(package: Path, environ: dict[str, str] | None = None) -> Installed:
        folder = tmp_path_factory.mktemp("environment")
        folders.append(folder)
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True, env=bare_environ())
        installed = Installed(folder)
        pip = (str(installed.python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check")
        installed.run(*pip, str(package), environ=environ)
        return installed

    yield make
    for folder in folders:
        shutil.rmtree(folder)
