"""Atomic writing of completion scripts."""

import os
from pathlib import Path
from tempfile import NamedTemporaryFile

from kctl.cli.exit_codes import ExitCode
from kctl.cli.failures import CommandError, file_error
from kctl.posix import set_mode

_HEAD_BYTES = 1000


def write_script(path: Path, text: str, mark: str, *, force: bool = False) -> None:
    """Write a script atomically.

    Args:
        mark: text in the first bytes of files that may be replaced.
        force: replace any file.
    Raises: CommandError: the file is from another program, or cannot be written.
    """
    try:
        if not force and not _is_ours(path, mark):
            raise CommandError(
                ExitCode.USAGE, f"{path} already exists, and kctl did not write it", "add --force to replace the file"
            )
        path.parent.mkdir(parents=True, exist_ok=True)
        _replace(path, text)
    except OSError as e:
        raise file_error(f"cannot write {e.filename or path}", e) from None


def _is_ours(path: Path, mark: str) -> bool:
    try:
        with path.open("rb") as file:
            return mark.encode() in file.read(_HEAD_BYTES)
    except FileNotFoundError:
        return True


def _replace(path: Path, text: str) -> None:
    with NamedTemporaryFile("w", encoding="utf-8", dir=path.parent, prefix=f".{path.name}.", delete=False) as file:
        try:
            file.write(text)
            file.flush()
            set_mode(file.fileno(), 0o644)
            os.replace(file.name, path)
        except BaseException:
            os.unlink(file.name)
            raise
