"""Profile files that commands change."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from kctl.cli.profiles.choice import Files
from kctl.cli.profiles.files import LARGEST_FILE_BYTES, ProfileFile, decode, read_content
from kctl.cli.profiles.locations import PROJECT_FILE, project_file, require_user_file, working_folder
from kctl.cli.profiles.trust import is_trusted, trust
from kctl.cli.profiles.writing import replace_file
from kctl.client.clock import Clock
from kctl.client.errors import ConfigError

Edit = Callable[[str, str], str]
"""Function of a file's text and name that returns the new text. Raises ConfigError if the file is invalid."""


class Store(NamedTuple):
    """Profile file of the user or of a project."""

    path: Path
    is_project: bool
    environ: Mapping[str, str]
    clock: Clock

    def change(self, edit: Edit) -> None:
        """Replace the text of the file with the result of `edit`.

        Raises: ConfigError: the file is invalid or cannot be written, or `edit` failed. The file is unchanged.
        """
        before: list[bytes | None] = []

        def make(raw: bytes | None) -> bytes:
            before.append(raw)
            after = edit(decode(raw or b"", str(self.path)), str(self.path)).encode()
            if len(after) > LARGEST_FILE_BYTES:
                raise ConfigError(f"cannot write {self.path}: the file would be larger than {LARGEST_FILE_BYTES} bytes")
            return after

        self._keep_trust(before, replace_file(self.path, make, self.clock))

    def replace(self, expected: bytes | None, after: bytes) -> None:
        """Replace the content of the file if it is still `expected`.

        Raises: ConfigError: another process changed the file, or `after` is invalid.
        """

        def make(raw: bytes | None) -> bytes:
            if raw != expected:
                raise ConfigError(f"cannot write {self.path}: another process changed the file")
            return after

        read_content(after, str(self.path))
        self._keep_trust([expected], replace_file(self.path, make, self.clock))

    def _keep_trust(self, before: list[bytes | None], after: bytes) -> None:
        """Trust the new content of a project file if its old content was trusted or did not exist."""
        if not self.is_project:
            return
        was = before[0]
        if was is None or self._is_trusted(was):
            trust(self.path, after, self.environ)

    def _is_trusted(self, raw: bytes) -> bool:
        try:
            content = read_content(raw, str(self.path))
        except ConfigError:
            return False
        return is_trusted(ProfileFile(self.path, raw, 0, content, True), self.environ)


def open_store(environ: Mapping[str, str], clock: Clock, *, project: bool) -> Store:
    """Return the user's file. With `project`, return the nearest or, in the working directory, a new project file."""
    if not project:
        return Store(require_user_file(environ), False, environ, clock)
    folder = working_folder()
    if folder is None:
        raise ConfigError("the working directory no longer exists")
    return Store(project_file(folder) or folder / PROJECT_FILE, True, environ, clock)


def store_of(name: str, files: Files, environ: Mapping[str, str], clock: Clock) -> Store | None:
    """Return the file that contains a profile, or None. The project file has precedence."""
    found = next((file for file in files.in_order() if name in file.content.profiles), None)
    return None if found is None else Store(found.path, found.is_project, environ, clock)
