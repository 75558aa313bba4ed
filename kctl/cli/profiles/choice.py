"""Selection of the profile: -C, $KCTL_PROFILE, `current` of the project file, `current` of the user's file, or none.

If an untrusted project file would decide, the command fails.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from kctl.cli.login import written_with_jaas
from kctl.cli.profiles.files import ProfileFile, Properties, read_profile_file
from kctl.cli.profiles.locations import project_file, user_file, working_folder
from kctl.client.errors import ConfigError
from kctl.client.wording import listed

VARIABLE = "KCTL_PROFILE"
WRITABLE_BY_ALL, FOR_OTHERS = 0o002, 0o077
PROFILE_KEY = "kctl.profile"
"""`key` of the ConfigError about a missing profile."""


class Chosen(NamedTuple):
    """Profile, its file, and the source of the choice, such as -C."""

    name: str
    file: ProfileFile
    by: str

    @property
    def properties(self) -> Properties:
        return written_with_jaas(self.file.content.profiles[self.name])

    @property
    def origin(self) -> str:
        return f"profile {self.name}"


class Files(NamedTuple):
    """Profile files. The project file has precedence."""

    project: ProfileFile | None
    user: ProfileFile | None

    def in_order(self) -> list[ProfileFile]:
        return [file for file in self if file is not None]

    def names(self) -> list[str]:
        """Return the names of all profiles without duplicates, starting with the project."""
        return list(dict.fromkeys(name for file in self.in_order() for name in file.content.profiles))


def read_files(environ: Mapping[str, str], folder: Path | None = None) -> Files:
    """Return the profile files.

    Args: folder: directory whose project file applies, or the nearest above; None for the working directory.
    Raises: ConfigError: a file cannot be read or is invalid.
    """
    near, own = project_file(folder or working_folder()), user_file(environ)
    project = None if near is None else read_profile_file(near, is_project=True)
    return Files(project, None if own is None else read_profile_file(own))


def choose_profile(wanted: str | None, environ: Mapping[str, str], folder: Path | None = None) -> Chosen | None:
    """Return the profile of a command, or None.

    Args: wanted: value of -C; None without -C, '' for no profile.
    Raises: ConfigError: the profile does not exist, or its file is invalid, untrusted, or writable by all users.
    """
    asked, by = (wanted, "-C") if wanted is not None else (environ.get(VARIABLE), f"${VARIABLE}")
    if asked == "":
        return None
    files = read_files(environ, folder)
    if asked is None:
        deciding = next((file for file in files.in_order() if file.content.current is not None), None)
        if deciding is None:
            return None
        _require_safe(deciding, environ)
        asked, by = deciding.content.current, f"current of {deciding.path}"
    return find_profile(str(asked), by, files, environ)


def find_profile(name: str, by: str, files: Files, environ: Mapping[str, str]) -> Chosen:
    """Return the profile with this name. The project file has precedence.

    Args: by: source of the name, for errors.
    Raises: ConfigError: see `choose_profile`.
    """
    for file in files.in_order():
        if name in file.content.profiles:
            _require_safe(file, environ)
            return Chosen(name, file, by)
    raise no_such_profile(name, by, files)


def no_such_profile(name: str, by: str, files: Files) -> ConfigError:
    """Return the error for a missing profile, with a similar name or all names.

    Args: by: source of the name; '' for an argument of the command.
    """
    from kctl.client.config import nearest_name  # deferred import: only for errors

    names = files.names()
    near = nearest_name(name[:80], names)
    if near is not None:
        rest = f": did you mean {near}?"
    else:
        rest = f": use {listed(names)}" if names else ". Create one with: kctl profile create"
    where = f"{by}: " if by else ""
    return ConfigError(f"{where}no profile {name[:80]!r} found{rest}", key=PROFILE_KEY)


def _require_safe(file: ProfileFile, environ: Mapping[str, str]) -> None:
    from kctl.cli.profiles.trust import require_trust  # deferred import: not all users have profiles

    if file.mode & WRITABLE_BY_ALL:
        raise ConfigError(f"cannot use {file.path}: all users can change the file. Run chmod 600")
    require_trust(file, environ)
