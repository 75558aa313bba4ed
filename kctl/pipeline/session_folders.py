"""The folder on disk that a Spark session has for itself, and the end of those whose owner was killed.

Owns their names, the lock by which an owner that lives is known, and the log beside a folder. The lock is one of the
kernel's on the folder itself: it ends with its process, however that ends, and no process id can be mistaken for it.
What is in a folder is the session's: the archive for the workers, Spark's own temporary files, its sockets. Secrets are
not: tasks are given references. Knows nothing of Spark.
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
"""As `tempfile.mkdtemp` makes them; what else begins so is not ours."""


@contextmanager
def session_folder() -> Iterator[Path]:
    """A private folder for what a session needs on disk, gone afterwards; those without an owner go first."""
    remove_abandoned(Path(tempfile.gettempdir()))
    folder, lock = _locked_folder()
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(lock)


def log_beside(folder: Path) -> Path:
    """Return where the log of a session goes that is to be kept only if something goes wrong; made, for us alone.

    It is shown to the user, so it outlives its folder; while the folder is there it goes with it.
    """
    path = _log_of(folder)
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    return path


def remove_abandoned(where: Path) -> list[Path]:
    """Remove the folders of sessions whose process is gone, and their logs; return the folders.

    Those of other users are left, and so are those on a file system that has no locks.
    """
    removed = []
    try:
        found = sorted(path for path in where.iterdir() if _NAME.fullmatch(path.name))
    except OSError:  # the session's own folder will tell
        return []
    for folder in found:
        with suppress(OSError):  # somebody else's, or gone meanwhile
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
    """Return a new folder and the descriptor that locks it; children do not inherit it."""
    while True:
        folder = Path(tempfile.mkdtemp(prefix=PREFIX))
        with suppress(FileNotFoundError):  # another session's start removed it before it was locked
            lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
            with suppress(OSError):  # no locks here: then it is never taken for abandoned either
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
