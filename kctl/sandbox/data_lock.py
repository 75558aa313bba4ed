"""Lock of a data directory, which one sandbox holds from its start until its data is saved."""

import errno
import os
from pathlib import Path

from kctl.client.lifetime import follow_forks
from kctl.posix import BINARY, CLOEXEC, NO_LOCKS, NOFOLLOW, NONBLOCK, lock

LOCK_FILE = "cluster.lock"
_MODE = 0o600
_PID_BYTES = 20


class DataLock:
    """Lock file with the process ID of its holder. It stays in the directory, because its removal could race."""

    def __init__(self, folder: Path) -> None:
        """Create the directory and lock it.

        Raises: BlockingIOError: another sandbox holds the lock. OSError: the directory is not writable.
        """
        folder.mkdir(parents=True, exist_ok=True)
        self._descriptor = os.open(
            folder / LOCK_FILE, os.O_RDWR | os.O_CREAT | CLOEXEC | BINARY | NOFOLLOW | NONBLOCK, _MODE
        )
        try:
            lock(self._descriptor)
            os.ftruncate(self._descriptor, 0)
            os.write(self._descriptor, b"%d" % os.getpid())
        except BlockingIOError:
            holder = os.read(self._descriptor, _PID_BYTES).decode("ascii", "replace")
            self.release()
            text = f"the sandbox of process {holder} uses it" if holder.isdigit() else "another sandbox uses it"
            raise BlockingIOError(errno.EWOULDBLOCK, text) from None
        except OSError as error:
            if error.errno not in NO_LOCKS:
                self.release()
                raise
        follow_forks(self)

    def release(self) -> None:
        """Release the lock. Idempotent."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
        self._descriptor = -1

    def _after_fork(self) -> None:
        """Close the child's copy, which would hold the lock after the end of its parent."""
        self.release()
