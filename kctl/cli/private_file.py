"""Files with private data, such as records. They have mode 0600, and symbolic links are not followed."""

import errno
import os
import re
import stat
from pathlib import Path

from kctl.posix import BINARY, CLOEXEC, NOFOLLOW, NONBLOCK, block, is_owned, set_mode

PRIVATE_MODE = 0o600
_OWN_DESCRIPTOR = re.compile(r"/dev/(stdout|stderr|fd/\d+)|/proc/self/fd/\d+")
"""Links of the system to open files of this process, such as `>(gzip)` of a shell."""


def open_private(path: str) -> int:
    """Create or truncate a file with mode 0600, and return its descriptor. Devices and pipes are opened unchanged.

    Raises: OSError: for example, the file is a symbolic link, a pipe without a reader, or of another user.
    """
    own = _OWN_DESCRIPTOR.fullmatch(path) is not None
    flags = os.O_WRONLY | os.O_CREAT | CLOEXEC | BINARY | NONBLOCK | (0 if own else NOFOLLOW)
    try:
        descriptor = os.open(path, flags, PRIVATE_MODE)
    except OSError as e:
        if e.errno == errno.ELOOP:
            raise OSError(e.errno, "symbolic links are not followed") from None
        if e.errno == errno.ENXIO:
            raise OSError(e.errno, "the pipe has no reader") from None
        raise
    block(descriptor)  # a pipe without a reader would have kept us waiting
    try:
        found = os.fstat(descriptor)
        if not own and not stat.S_ISCHR(found.st_mode) and not is_owned(found, others=0):
            raise OSError(errno.EPERM, "the file belongs to another user")
        if not own and stat.S_ISREG(found.st_mode):
            set_mode(descriptor, PRIVATE_MODE)
            os.ftruncate(descriptor, 0)
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def write_private(path: Path, text: str) -> None:
    """Write a file that only its owner may read. Raises: OSError: see `open_private`, or the disk is full."""
    with open(open_private(str(path)), "w", encoding="utf-8", errors="replace") as file:
        file.write(text)
