"""Where profile files are: the user's, and a project's; both are only named here, never read."""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from kctl.client.errors import ConfigError
from kctl.grammar.user_folders import user_folder
from kctl.posix import user_id

PROJECT_FILE = ".kctl.toml"


def user_file(environ: Mapping[str, str]) -> Path | None:
    """Return where the user's own profiles are, whether or not the file exists; None for a user without a home."""
    folder = user_folder(environ, "XDG_CONFIG_HOME", ".config")
    return None if folder is None else folder / "config.toml"


def require_user_file(environ: Mapping[str, str]) -> Path:
    """Return where the user's own profiles are.

    Raises: ConfigError: there is no place for them.
    """
    path = user_file(environ)
    if path is None:
        raise ConfigError("no folder for profiles: neither $HOME nor $XDG_CONFIG_HOME is set")
    return path


def project_file(folder: Path | None) -> Path | None:
    """Return the nearest .kctl.toml from a folder upwards that is not another user's, or None."""
    return next((path for path in _project_files(folder) if not _is_foreign(path)), None)


def foreign_project_files(folder: Path | None) -> list[Path]:
    """Return the files that `project_file` passes over: anybody may put one into a folder above, such as /tmp."""
    found: list[Path] = []
    for path in _project_files(folder):
        if not _is_foreign(path):
            break
        found.append(path)
    return found


def _project_files(folder: Path | None) -> Iterator[Path]:
    for each in () if folder is None else (folder, *folder.parents):
        path = each / PROJECT_FILE
        if os.path.lexists(path):
            yield path


def _is_foreign(path: Path) -> bool:
    """Return whether a file, or what a link leads to, belongs to a user who is neither we nor root."""
    user = user_id()
    if user is None:
        return False
    ours = {0, user}
    try:
        return path.lstat().st_uid not in ours or path.stat().st_uid not in ours
    except OSError:  # a link to nowhere: an error of its own when it is read
        return False


def working_folder() -> Path | None:
    """Return the folder that the process works in, or None where it was deleted."""
    try:
        return Path.cwd()
    except OSError:
        return None
