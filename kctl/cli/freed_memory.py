"""Settings of glibc's allocator that keep freed memory in the process.

By default glibc returns the MiB of each fetch to the system. Mapping new pages costs more than decoding the records.
"""

import sys
from typing import Final

_M_TRIM_THRESHOLD: Final = -1
_M_MMAP_THRESHOLD: Final = -3
KEPT_BYTES: Final = 128 * 1024 * 1024
"""Free memory at the end of the heap above which glibc returns it."""
LARGEST_BLOCK_BYTES: Final = 32 * 1024 * 1024
"""Size above which a block is mapped separately: the maximum of glibc."""


def keep_freed_memory() -> bool:
    """Raise the thresholds of glibc's allocator. Return whether the allocator accepts them."""
    if not sys.platform.startswith("linux"):
        return False
    import ctypes  # 3 ms, which commands that move little do without

    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError):  # another C library
        return False
    return bool(mallopt(_M_TRIM_THRESHOLD, KEPT_BYTES) and mallopt(_M_MMAP_THRESHOLD, LARGEST_BLOCK_BYTES))
