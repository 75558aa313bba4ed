"""Ports for servers that must know their numbers before they bind, safe between test processes.

A lease is a block of ports under a file lock, which the system frees when its holder dies, however it dies. All lie
below the range from which Linux picks ports for outgoing connections, and each is tried before it is handed out.
"""

import contextlib
import fcntl
import os
import socket
import tempfile
from collections.abc import Iterator
from pathlib import Path

HOST = "127.0.0.1"
FIRST_PORT = 20_000
BLOCK_SIZE = 8
BLOCK_COUNT = 1_500


class PortLease:
    """A block of ports that no other test process is given until `release()`."""

    def __init__(self, lock_fd: int, first_port: int) -> None:
        self._lock_fd = lock_fd
        self._ports = iter(range(first_port, first_port + BLOCK_SIZE))

    def take(self) -> int:
        """Return the next port of the block."""
        return next(self._ports)

    def release(self) -> None:
        """Give the block back."""
        os.close(self._lock_fd)


@contextlib.contextmanager
def leased_ports() -> Iterator[PortLease]:
    """A lease for a `with` block."""
    lease = lease_ports()
    try:
        yield lease
    finally:
        lease.release()


def lease_ports() -> PortLease:
    """Return a lease of `BLOCK_SIZE` ports on which nothing listens now.

    Raises:
        OSError: every block is taken.
    """
    folder = Path(tempfile.gettempdir()) / "kctl-ports"
    folder.mkdir(exist_ok=True)
    start = os.getpid() * 7
    for step in range(BLOCK_COUNT):
        block = (start + step) % BLOCK_COUNT
        first_port = FIRST_PORT + block * BLOCK_SIZE
        lock_fd = _try_lock(folder / f"{first_port}.lock")
        if lock_fd is None:
            continue
        if all(_is_free(port) for port in range(first_port, first_port + BLOCK_SIZE)):
            return PortLease(lock_fd, first_port)
        os.close(lock_fd)
    raise OSError(f"no block of {BLOCK_SIZE} free ports from {FIRST_PORT} on; locks are in {folder}")


def _try_lock(path: Path) -> int | None:
    """Return the descriptor that holds the lock, None when another process (or user) has it."""
    try:
        lock_fd = os.open(path, os.O_CREAT | os.O_RDWR, 0o666)
    except PermissionError:
        return None
    try:
        fcntl.flock(lock_fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(lock_fd)
        return None
    return lock_fd


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError:
            return False
    return True
