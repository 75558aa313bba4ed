"""Selection: what is looked at."""

from collections.abc import Sequence
from typing import NamedTuple


class Selection(NamedTuple):
    """What is looked at: groups and topics by name; None for all. The topics of a group belong to it."""

    groups: Sequence[str] | None = ()
    topics: Sequence[str] | None = ()
    has_brokers: bool = False
    """Whether disks, quorum and configs of brokers are looked at."""
    is_compared: bool = False
    """Whether looks are compared, for which each broker reports its own metadata of topics."""
    has_ages: bool = False
    """Whether the next record of each group is read, too: a group is that far behind in time."""
