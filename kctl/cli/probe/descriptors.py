"""How many sockets the process may have open; for programs that probe or serve many addresses at once.

A library never changes its process unasked, so no client calls this by itself: the command line does, for `probe`.
Without it a client with too few descriptors reports "Too many open files" for the address concerned and continues.
"""

from kctl.posix import allow_open_files

_BESIDE_SOCKETS = 64
"""Files, pipes and libraries that are open anyway."""


def allow_descriptors(sockets: int) -> bool:
    """Raise the soft limit of open files so that `sockets` more can be open; return whether they can."""
    return allow_open_files(sockets + _BESIDE_SOCKETS)
