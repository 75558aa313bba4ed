"""How many sockets the process may have open; for programs that probe or serve many addresses at once.

A library never changes its process unasked, so no client calls this by itself: the command line does, for `probe`.
Without it a client with too few descriptors reports "Too many open files" for the address concerned and continues.
"""

try:
    import resource
except ImportError:  # not a Unix: there is no such limit to raise
    _has_limit = False
else:
    _has_limit = True

_BESIDE_SOCKETS = 64
"""Files, pipes and libraries that are open anyway."""


def allow_descriptors(sockets: int) -> bool:
    """Raise the soft limit of open files, if need be, so that `sockets` fit beside what is open anyway.

    The soft limit is never lowered and never set beyond the hard limit, which only an administrator can raise.

    Returns: whether that many fit now.
    """
    if not _has_limit:
        return True
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = sockets + _BESIDE_SOCKETS
    if soft == resource.RLIM_INFINITY or soft >= needed:
        return True
    most = needed if hard == resource.RLIM_INFINITY else min(needed, hard)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
    except (ValueError, OSError):  # macOS has a ceiling of its own below an unlimited hard limit
        return False
    return most >= needed
