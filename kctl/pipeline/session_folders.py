"""Directories of Spark sessions, and the removal of directories whose owner was killed.

The owner holds a kernel lock on its directory. The kernel releases the lock when the process ends, even if it is
killed.
"""

import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from kctl.posix import is_owned
from kctl.posix import lock as take_lock

PREFIX = "kctl-session-"
_NAME = re.compile(re.escape(PREFIX) + r"[a-z0-9_]{8}")
"""Names from `tempfile.mkdtemp`; other names with the prefix are ignored."""


@contextmanager
def session_folder() -> Iterator[Path]:
    """Create a private directory, and remove it when the context ends. Remove abandoned directories first."""
    remove_abandoned(Path(tempfile.gettempdir()))
    folder, lock = _locked_folder()
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(lock)


def log_beside(folder: Path) -> Path:
    """Create a log file next to a directory, readable only by its owner, and return its path.

    The log can outlive the directory, because users see its path.
    """
    path = _log_of(folder)
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    return path


def remove_abandoned(where: Path) -> list[Path]:
    """Remove session directories of dead processes, with their logs, and return the directories.

    Directories of other users, and directories on file systems without locks, stay.
    """
    removed = []
    try:
        found = sorted(path for path in where.iterdir() if _NAME.fullmatch(path.name))
    except OSError:  # creating the session's directory reports the error
        return []
    for folder in found:
        with suppress(OSError):  # another user's directory, or removed in the meantime
            if _remove_if_abandoned(folder):
                removed.append(folder)
    return removed


def _remove_if_abandoned(folder: Path) -> bool:
    lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        if not is_owned(os.fstat(lock), others=0):
            return False
        try:
            take_lock(lock)
        except BlockingIOError:
            return False
        _log_of(folder).unlink(missing_ok=True)
        shutil.rmtree(folder)
        return True
    finally:
        os.close(lock)


def _locked_folder() -> tuple[Path, int]:
    """Return a new directory and the descriptor of its lock, which child processes do not inherit."""
    while True:
        folder = Path(tempfile.mkdtemp(prefix=PREFIX))
        with suppress(FileNotFoundError):  # another session's start removed it before it was locked
            lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
            with suppress(OSError):  # a file system without locks: nothing there counts as abandoned
                take_lock(lock, waits=True)
            if _is_there(folder, lock):
                return folder, lock
            os.close(lock)


def _is_there(folder: Path, lock: int) -> bool:
    try:
        return os.path.samestat(folder.stat(), os.fstat(lock))
    except FileNotFoundError:
        return False


def _log_of(folder: Path) -> Path:
    return folder.with_name(f"{folder.name}.log")
