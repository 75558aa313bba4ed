"""Files that users name, opened without waiting for the writer of a FIFO."""

import errno
import os
import stat
from pathlib import Path
from typing import BinaryIO

from kctl.posix import NONBLOCK, block


def open_input(path: str | Path) -> BinaryIO:
    """Open a file. A pipe with a writer, such as `<(command)`, is read to its end; others are empty.

    Raises: OSError.
    """
    file = open(path, "rb", opener=lambda name, flags: os.open(name, flags | NONBLOCK))  # noqa: SIM115 - returned
    block(file.fileno())
    return file


def open_regular(path: str | Path) -> BinaryIO:
    """Open a regular file. Raises: OSError: it cannot be opened, or is a pipe or device, which could block."""
    file = open_input(path)
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise OSError(errno.EINVAL, "not a regular file", str(path))
    return file


def read_input(path: str | Path, most_bytes: int) -> tuple[bytes, int]:
    """Return at most `most_bytes` of a file, and its mode.

    Raises: OSError: it cannot be read, or is a pipe without a writer, which would look like an empty file.
    """
    with open_input(path) as file:
        mode = os.fstat(file.fileno()).st_mode
        data = file.read(most_bytes)
    if not data and stat.S_ISFIFO(mode):
        raise OSError(errno.EINVAL, "the file is a pipe without a writer")
    return data, mode
