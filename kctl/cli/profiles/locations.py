"""Where profile files are: the user's, and a project's; both are only named here, never read.

Shown by tests/unit/cli/profiles/test_locations.py.
"""

import os
from collections.abc import Mapping
from pathlib import Path

from kctl.client.errors import ConfigError

PROJECT_FILE = ".kctl.toml"


def user_file(environ: Mapping[str, str]) -> Path | None:
    """Return where the user's own profiles are, whether or not the file exists; None for a user without a home.

    Source: XDG Base Directory Specification: a relative $XDG_CONFIG_HOME is to be ignored.
    """
    base, home = environ.get("XDG_CONFIG_HOME", ""), environ.get("HOME", "")
    if os.path.isabs(base):
        return Path(base, "kctl", "config.toml")
    return Path(home, ".config", "kctl", "config.toml") if home else None


def require_user_file(environ: Mapping[str, str]) -> Path:
    """Return where the user's own profiles are.

    Raises: ConfigError: there is no place for them.
    """
    path = user_file(environ)
    if path is None:
        raise ConfigError("profiles have no place: neither $HOME nor $XDG_CONFIG_HOME is set")
    return path


def project_file(folder: Path | None) -> Path | None:
    """Return the nearest .kctl.toml from a folder upwards, or None."""
    if folder is None:
        return None
    return next((path for each in (folder, *folder.parents) if os.path.lexists(path := each / PROJECT_FILE)), None)


def working_folder() -> Path | None:
    """Return the folder that the process works in, or None where it was deleted."""
    try:
        return Path.cwd()
    except OSError:
        return None
