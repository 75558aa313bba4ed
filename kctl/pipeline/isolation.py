"""Isolation level of each side of a job. No other module of the pipeline sets a level.

Plan and read a range with one level. Otherwise the reader misses records, or waits forever for an end behind an open
transaction.
"""

from collections.abc import Iterable, Mapping
from typing import Final, NewType

from kctl.client.admin import LATEST, Admin
from kctl.client.cluster import TopicPartition

ReadingProperties = NewType("ReadingProperties", dict[str, object])
"""Kafka properties with the isolation level for planning and reading one side of a job."""
_NAME: Final = "isolation.level"
_COMMITTED: Final = "read_committed"
UNCOMMITTED: Final = "read_uncommitted"
"""Level at which end offsets include open transactions."""


def as_given(properties: Mapping[str, object]) -> ReadingProperties:
    """Return the properties of Spark's data source unchanged. Kafka's default level applies, as in Spark:
    read_uncommitted.
    """
    return ReadingProperties(dict(properties))


def of_source(properties: Mapping[str, object]) -> ReadingProperties:
    """Return the properties for the source of a job. The default level is read_committed."""
    return ReadingProperties({_NAME: _COMMITTED, **properties})


def of_target(properties: Mapping[str, object]) -> ReadingProperties:
    """Return the properties for a copy. The level is always read_committed, because a copy has no aborted records."""
    return ReadingProperties({**properties, _NAME: _COMMITTED})


def with_open_transactions(properties: Mapping[str, object]) -> ReadingProperties:
    """Return properties that plan ends beyond open transactions. A reader with `of_target` then waits for the
    transactions.
    """
    return ReadingProperties({**properties, _NAME: UNCOMMITTED})


def committed_ends(admin: Admin, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
    asked = dict.fromkeys(partitions, LATEST)
    found = admin.list_offsets(asked, isolation_level=_COMMITTED)
    found.raise_first()
    return {tp: found[tp].offset for tp in asked}


def have_open_transactions(admin: Admin, partitions: Iterable[TopicPartition]) -> bool:
    """Return whether any partition that responds has an open transaction."""
    asked = dict.fromkeys(partitions, LATEST)
    committed = admin.list_offsets(asked, isolation_level=_COMMITTED).done
    ends = admin.list_offsets(asked, isolation_level=UNCOMMITTED).done
    return any(committed[tp].offset < ends[tp].offset for tp in committed if tp in ends)
