"""Freed memory stays with the process while many records are moved, instead of going back to the system each time.

A fetch of some MiB is freed soon after it came. glibc returns such memory to the system soon and fetches new pages
for the next response, which costs more than decoding the records.
"""

import sys
from typing import Final

_M_TRIM_THRESHOLD: Final = -1
_M_MMAP_THRESHOLD: Final = -3
KEPT_BYTES: Final = 128 * 1024 * 1024
"""Free memory at the end of an arena beyond which glibc gives it back."""
LARGEST_BLOCK_BYTES: Final = 32 * 1024 * 1024
"""Blocks above are mapped one by one; glibc allows no more than this."""


def keep_freed_memory() -> bool:
    """Raise the thresholds of glibc's allocator; return whether there is one that takes them."""
    if not sys.platform.startswith("linux"):
        return False
    import ctypes  # 3 ms, which commands that move little do without

    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError):  # another C library
        return False
    return bool(mallopt(_M_TRIM_THRESHOLD, KEPT_BYTES) and mallopt(_M_MMAP_THRESHOLD, LARGEST_BLOCK_BYTES))
