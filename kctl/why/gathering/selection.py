"""Selection of the subjects of a look."""

from collections.abc import Sequence
from typing import NamedTuple


class Selection(NamedTuple):
    """Groups and topics to read. None means all. Topics of groups are included."""

    groups: Sequence[str] | None = ()
    topics: Sequence[str] | None = ()
    has_brokers: bool = False
    """True to read disks, quorum, and broker configs."""
    is_compared: bool = False
    """True to compare looks. Each broker then reports its metadata of topics."""
    has_ages: bool = False
    """True to read the next record of each group, for its lag in time."""
