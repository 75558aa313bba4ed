"""Which profile a call uses: -C, $KCTL_PROFILE, `current` of the project's file, `current` of the user's, or none.

A project's file counts only when it is trusted; where it would decide and is not, the call ends, for what it would have
said instead cannot be guessed.
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
"""`key` of the ConfigError about a profile that is not there."""


class Chosen(NamedTuple):
    """A profile, the file that has it, and who chose it."""

    name: str
    file: ProfileFile
    by: str

    @property
    def properties(self) -> Properties:
        return written_with_jaas(self.file.content.profiles[self.name])

    @property
    def origin(self) -> str:
        """How the origin of its values is called."""
        return f"profile {self.name}"


class Files(NamedTuple):
    """The files that there are: the project's is the first to look into."""

    project: ProfileFile | None
    user: ProfileFile | None

    def in_order(self) -> list[ProfileFile]:
        return [file for file in self if file is not None]

    def names(self) -> list[str]:
        """Return the names of all profiles, those of the project first, each once."""
        return list(dict.fromkeys(name for file in self.in_order() for name in file.content.profiles))


def read_files(environ: Mapping[str, str], folder: Path | None = None) -> Files:
    """Return the files of profiles as they are.

    Args: folder: where to look for a project's file from upwards; else the working folder.
    Raises: ConfigError: one cannot be read, or is broken.
    """
    near, own = project_file(folder or working_folder()), user_file(environ)
    project = None if near is None else read_profile_file(near, is_project=True)
    return Files(project, None if own is None else read_profile_file(own))


def choose_profile(wanted: str | None, environ: Mapping[str, str], folder: Path | None = None) -> Chosen | None:
    """Return the profile of a call, or None where none is chosen.

    Args: wanted: the word of -C, or None without it; '' wants none.
    Raises: ConfigError: there is no such profile, or its file is broken, not trusted, or open for anybody's writing.
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
    """Return the profile of that name; the project's where both files have one.

    Raises: ConfigError: as choose_profile.
    """
    for file in files.in_order():
        if name in file.content.profiles:
            _require_safe(file, environ)
            return Chosen(name, file, by)
    raise no_such_profile(name, by, files)


def no_such_profile(name: str, by: str, files: Files) -> ConfigError:
    """Return the error that there is no such profile, with the nearest or all there are.

    Args: by: where the name comes from; '' for an argument of the command.
    """
    from kctl.client.config import nearest_name  # wanted only for mistakes

    names = files.names()
    near = nearest_name(name[:80], names)
    if near is not None:
        rest = f": did you mean {near}?"
    else:
        rest = f"; there are {listed(names)}" if names else ", nor any other; kctl profile create makes one"
    where = f"{by}: " if by else ""
    return ConfigError(f"{where}there is no profile {name[:80]!r}{rest}", key=PROFILE_KEY)


def _require_safe(file: ProfileFile, environ: Mapping[str, str]) -> None:
    from kctl.cli.profiles.trust import require_trust  # wanted by those who have profiles

    if file.mode & WRITABLE_BY_ALL:
        raise ConfigError(f"{file.path} may be written by everybody, so anybody could run commands as you: chmod 600")
    require_trust(file, environ)
