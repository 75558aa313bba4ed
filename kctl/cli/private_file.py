"""Files that hold what others may not read, such as whole records: mode 0600, and no symbolic link is followed."""

import errno
import os
import re
import stat
from pathlib import Path

from kctl.posix import BINARY, CLOEXEC, NOFOLLOW, NONBLOCK, block, is_owned, set_mode

PRIVATE_MODE = 0o600
_OWN_DESCRIPTOR = re.compile(r"/dev/(stdout|stderr|fd/\d+)|/proc/self/fd/\d+")
"""Links that the system makes to what the process has open: `>(gzip)` of a shell is one."""


def open_private(path: str) -> int:
    """Create or empty a file that only its owner may read and write; return its descriptor.

    Devices, and pipes of this user, are opened as they are.
    Raises: OSError: it cannot be made, belongs to another user, is a symbolic link, or a pipe without a reader.
    """
    own = _OWN_DESCRIPTOR.fullmatch(path) is not None
    flags = os.O_WRONLY | os.O_CREAT | CLOEXEC | BINARY | NONBLOCK | (0 if own else NOFOLLOW)
    try:
        descriptor = os.open(path, flags, PRIVATE_MODE)
    except OSError as e:
        if e.errno == errno.ELOOP:
            raise OSError(e.errno, "a symbolic link, which is not followed") from None
        if e.errno == errno.ENXIO:
            raise OSError(e.errno, "a pipe without a reader") from None
        raise
    block(descriptor)  # a pipe without a reader would have kept us waiting
    try:
        found = os.fstat(descriptor)
        if not own and not stat.S_ISCHR(found.st_mode) and not is_owned(found, others=0):
            raise OSError(errno.EPERM, "it belongs to another user")
        if not own and stat.S_ISREG(found.st_mode):
            set_mode(descriptor, PRIVATE_MODE)
            os.ftruncate(descriptor, 0)
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def write_private(path: Path, text: str) -> None:
    """Write a file that only its owner may read. Raises: OSError: as open_private, or the disk is full."""
    with open(open_private(str(path)), "w", encoding="utf-8", errors="replace") as file:
        file.write(text)
