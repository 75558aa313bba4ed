"""POSIX calls and constants that Windows lacks, each with a fallback.

Other users are only kctl.pipeline, which requires POSIX, and `ValuePlaces`, which is compiled.
"""

import errno
import os
import select
import signal
from collections.abc import Callable
from contextlib import suppress
from types import FrameType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import socket

try:
    import fcntl
except ImportError:
    _has_fcntl = False
else:
    _has_fcntl = True

NONBLOCK: int = getattr(os, "O_NONBLOCK", 0)
NOFOLLOW: int = getattr(os, "O_NOFOLLOW", 0)
NOCTTY: int = getattr(os, "O_NOCTTY", 0)
CLOEXEC: int = getattr(os, "O_CLOEXEC", 0)
BINARY: int = getattr(os, "O_BINARY", 0)
"""Flag that stops Windows from translating line feeds."""
HANG_UP: signal.Signals | None = getattr(signal, "SIGHUP", None)
SUSPEND: signal.Signals | None = getattr(signal, "SIGTSTP", None)
ALARM: signal.Signals | None = getattr(signal, "SIGALRM", None)
HAS_TIMER = ALARM is not None and hasattr(signal, "setitimer")
HAS_USERS = hasattr(os, "getuid")
HAS_FORK = hasattr(os, "fork")
NO_LOCKS = (errno.EBADF, errno.EINVAL, errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP)
"""Errors of `lock` on file systems without locks, on which other processes are not detected."""
_LOCAL_MODES = 3
"""Index in the list of termios.tcgetattr()."""


def user_id() -> int | None:
    """Return the user ID, or None on Windows."""
    return os.getuid() if HAS_USERS else None


def is_owned(found: os.stat_result, *, others: int = 0o077) -> bool:
    """Return whether a file belongs to this user and has none of the permissions `others`; True on Windows."""
    return not HAS_USERS or (found.st_uid == os.getuid() and not found.st_mode & others)


def block(descriptor: int) -> None:
    if NONBLOCK:
        os.set_blocking(descriptor, True)


def set_mode(descriptor: int, mode: int) -> None:
    """Set the permissions of an open file; no effect on Windows. Raises: OSError: another user owns the file."""
    if hasattr(os, "fchmod"):
        os.fchmod(descriptor, mode)


def lock(descriptor: int, *, waits: bool = False) -> None:
    """Lock an open file or directory for this process; no effect on Windows.

    Args: waits: wait for other processes to release it.
    Raises: BlockingIOError: another process holds the lock. OSError: the file system has no locks.
    """
    if _has_fcntl:
        fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if waits else fcntl.LOCK_NB))


def set_pipe_size(descriptor: int, size_bytes: int) -> None:
    """Enlarge a pipe to at least `size_bytes` on Linux. Raises: OSError: over the limit."""
    if _has_fcntl and hasattr(fcntl, "F_SETPIPE_SZ") and fcntl.fcntl(descriptor, fcntl.F_GETPIPE_SZ) < size_bytes:
        fcntl.fcntl(descriptor, fcntl.F_SETPIPE_SZ, size_bytes)


def open_folder(folder: str | os.PathLike[str]) -> int | None:
    """Open a directory to lock or synchronize it; None on Windows. Raises: OSError."""
    return os.open(folder, os.O_RDONLY) if _has_fcntl else None


def has_reader(descriptor: int) -> bool:
    """Return whether a pipe or socket has a reader; True without poll(), as a later write fails instead."""
    if not hasattr(select, "poll"):
        return True
    poll = select.poll()
    poll.register(descriptor, 0)
    return not any(event & select.POLLERR for _, event in poll.poll(0))


def set_timer(delay_s: float) -> None:
    """Set the interval timer that raises ALARM; 0 cancels it. No effect without HAS_TIMER."""
    if HAS_TIMER:
        signal.setitimer(signal.ITIMER_REAL, delay_s)


def handle_alarm(handler: Callable[[int, FrameType | None], Any]) -> None:
    if ALARM is not None and signal.getsignal(ALARM) is not handler:
        signal.signal(ALARM, handler)


def limit_memory(most_bytes: int) -> None:
    """Limit the address space of this process if the system supports it; lower limits stay."""
    with suppress(ImportError, ValueError, OSError):
        import resource  # deferred import: few commands set limits

        limits = resource.getrlimit(resource.RLIMIT_AS)
        soft, hard = (most_bytes if each == resource.RLIM_INFINITY else min(each, most_bytes) for each in limits)
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def allow_open_files(needed: int) -> bool:
    """Raise the soft limit of open files to `needed`, within the hard limit; return whether that many can be open."""
    try:
        import resource  # deferred import: few commands set limits
    except ImportError:  # Windows has no limit to raise
        return True
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= needed:
        return True
    most = needed if hard == resource.RLIM_INFINITY else min(needed, hard)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
    except (ValueError, OSError):  # macOS has a second limit below an unlimited hard limit
        return False
    return most >= needed


def set_echo(terminal: int, *, is_on: bool) -> bool:
    """Switch the echo of a terminal on or off; return whether the setting changed.

    A background process changes nothing: the system would stop it.
    """
    try:
        import termios  # deferred import: needed on a terminal only
    except ImportError:  # Windows
        return False
    with suppress(OSError, termios.error):  # the terminal is closed
        settings = termios.tcgetattr(terminal)
        if os.tcgetpgrp(terminal) == os.getpgrp() and bool(settings[_LOCAL_MODES] & termios.ECHO) is not is_on:
            settings[_LOCAL_MODES] ^= termios.ECHO
            termios.tcsetattr(terminal, termios.TCSANOW, settings)
            return True
    return False


def unix_socket() -> "socket.socket":
    """Return a Unix stream socket. Raises: OSError: the system has no Unix sockets."""
    import socket  # deferred import: offline commands open no socket

    if not hasattr(socket, "AF_UNIX"):
        raise OSError(errno.EAFNOSUPPORT, "the system has no Unix sockets")
    return socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
