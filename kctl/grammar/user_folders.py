"""Directories of kctl below the base directories of a user."""

import os
from collections.abc import Mapping
from pathlib import Path


def user_folder(environ: Mapping[str, str], variable: str, default: str) -> Path | None:
    """Return the kctl directory below a base directory, or None for a user without a home directory.

    As in the XDG Base Directory Specification, a relative path in the variable is ignored.

    Args:
        variable: environment variable of the base directory.
        default: base directory relative to the home directory.
    """
    base, home = environ.get(variable, ""), environ.get("HOME", "")
    if os.path.isabs(base):
        return Path(base, "kctl")
    return Path(home, default, "kctl") if home else None


def cache_folder(environ: Mapping[str, str], kind: str) -> Path | None:
    folder = user_folder(environ, "XDG_CACHE_HOME", ".cache")
    return None if folder is None else folder / kind
