"""Limit of open files, raised for programs that connect to many addresses.

Clients never change the limit. Without descriptors they report "Too many open files" for the address and continue.
"""

from kctl.posix import allow_open_files

_BESIDE_SOCKETS = 64
"""Number of other open files, such as pipes and libraries."""


def allow_descriptors(sockets: int) -> bool:
    """Raise the soft limit of open files for `sockets`. Return whether the limit is high enough."""
    return allow_open_files(sockets + _BESIDE_SOCKETS)
