"""Paths of the user's profile file and of project files."""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from kctl.client.errors import ConfigError
from kctl.grammar.user_folders import user_folder
from kctl.posix import user_id

PROJECT_FILE = ".kctl.toml"


def user_file(environ: Mapping[str, str]) -> Path | None:
    """Return the path of the user's profile file, or None if there is no home directory."""
    folder = user_folder(environ, "XDG_CONFIG_HOME", ".config")
    return None if folder is None else folder / "config.toml"


def require_user_file(environ: Mapping[str, str]) -> Path:
    """Return the path of the user's profile file. Raises: ConfigError: there is no home directory."""
    path = user_file(environ)
    if path is None:
        raise ConfigError("no directory for profiles found: set $HOME or $XDG_CONFIG_HOME")
    return path


def project_file(folder: Path | None) -> Path | None:
    """Return the nearest .kctl.toml in a directory or above. Files of other users are skipped."""
    return next((path for path in _project_files(folder) if not _is_foreign(path)), None)


def foreign_project_files(folder: Path | None) -> list[Path]:
    """Return the files that `project_file` skips, because any user can create them in directories such as /tmp."""
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
    """Return whether a file or its link target belongs to neither the user nor root."""
    user = user_id()
    if user is None:
        return False
    ours = {0, user}
    try:
        return path.lstat().st_uid not in ours or path.stat().st_uid not in ours
    except OSError:  # broken link: reading it fails later
        return False


def working_folder() -> Path | None:
    """Return the working directory, or None if it was deleted."""
    try:
        return Path.cwd()
    except OSError:
        return None
