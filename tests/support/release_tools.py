"""Programs that build and check a release; `make release-files` installs them from requirements/release.txt."""

import os
from pathlib import Path

BIN = Path(os.environ.get("KCTL_CACHE") or Path.home() / ".cache" / "kctl", "release", "bin")
"""Where the Makefile installs them."""


def release_tool(name: str) -> str:
    """Return the path of a program; a missing one fails the test."""
    path = BIN / name
    assert path.exists(), f"{path} is missing: run make release-files"
    return str(path)
