"""Directories of kctl below the base directories of a user."""

import os
from collections.abc import Mapping
from pathlib import Path


def user_folder(environ: Mapping[str, str], variable: str, default: str) -> Path | None:
    """Return the directory of kctl below a base directory; None for a user without a home.

    Args: variable: names the base directory. default: the base directory in the home of the user.
    Source: XDG Base Directory Specification: a relative path in the variable is to be ignored.
    """
    base, home = environ.get(variable, ""), environ.get("HOME", "")
    if os.path.isabs(base):
        return Path(base, "kctl")
    return Path(home, default, "kctl") if home else None


def cache_folder(environ: Mapping[str, str], kind: str) -> Path | None:
    """Return where data of a kind is kept between commands; None for a user without a home."""
    folder = user_folder(environ, "XDG_CACHE_HOME", ".cache")
    return None if folder is None else folder / kind
