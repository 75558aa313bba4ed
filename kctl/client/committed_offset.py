"""OffsetAndMetadata: what a group has committed for one partition, as the consumer and the admin client both say it.

Owns the value alone. Shown by tests/sim/groups and tests/sim/admin.
"""

from typing import NamedTuple

from kctl.client.cluster import NO_EPOCH


class OffsetAndMetadata(NamedTuple):
    """What is committed for a partition: the offset of the next record to read, and a word of whoever committed it."""

    offset: int
    metadata: str = ""
    leader_epoch: int = NO_EPOCH
