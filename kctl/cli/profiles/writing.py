"""Atomic replacement of files. Readers find the old or the new content, even after a power failure.

A temporary file (0600) in the directory is synced and renamed. A lock on the directory excludes other writers.
"""

import os
import select
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from kctl.cli.failures import file_error
from kctl.client.clock import Clock, SystemClock
from kctl.client.errors import ConfigError
from kctl.posix import NO_LOCKS, lock, open_folder

FOLDER_MODE = 0o700
LOCK_LIMIT_MS = 5_000
_LOOK_AGAIN_S = 0.02


def replace_file(path: Path, make: Callable[[bytes | None], bytes], clock: Clock | None = None) -> bytes:
    """Replace the content of a file, and return the new content. A new file has mode 0600; its directory is created
    too.

    If the path is a symbolic link, its target is replaced.

    Args: make: return the new content, given the old content, or None if there is no file. If it raises, nothing
    changes.
    Raises:
        CommandError: the file cannot be written.
        ConfigError: another process holds the lock.
    """
    real = Path(os.path.realpath(path))
    try:
        real.parent.mkdir(mode=FOLDER_MODE, parents=True, exist_ok=True)
        with _locked(real.parent, path, clock or SystemClock()):
            _remove_left_overs(real)
            try:
                before = real.read_bytes()
            except FileNotFoundError:
                before = None
            content = make(before)
            if content != before:
                _replace(real, content)
            return content
    except OSError as e:
        raise file_error(f"cannot write {path}", e) from None


def _replace(path: Path, content: bytes) -> None:
    descriptor, temporary = tempfile.mkstemp(prefix=_prefix(path), dir=path.parent)  # 0600
    try:
        with open(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        with suppress(FileNotFoundError):  # an interrupt after the rename
            os.unlink(temporary)
        raise
    folder = open_folder(path.parent)
    if folder is not None:
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def _prefix(path: Path) -> str:
    return f".{path.name.lstrip('.')}."


def _remove_left_overs(path: Path) -> None:
    for left in path.parent.glob(f"{_prefix(path)}????????"):
        left.unlink(missing_ok=True)


@contextmanager
def _locked(folder: Path, path: Path, clock: Clock) -> Iterator[None]:
    descriptor = open_folder(folder)
    if descriptor is None:
        yield
        return
    end_ms = clock.start_ms() + LOCK_LIMIT_MS
    try:
        while not _try_lock(descriptor):
            if clock.now_ms() >= end_ms:
                raise ConfigError(
                    f"cannot write {path}: another process has locked the file for {LOCK_LIMIT_MS // 1000} s"
                )
            select.select([], [], [], _LOOK_AGAIN_S)
        yield
    finally:
        os.close(descriptor)


def _try_lock(descriptor: int) -> bool:
    try:
        lock(descriptor)
    except BlockingIOError:
        return False
    except OSError as e:
        if e.errno not in NO_LOCKS:
            raise
    return True
