"""Which records a job sees: the isolation level of all that it plans, reads, counts and compares.

The ends of a range and its records have to be read by one level: an end behind an open transaction is never reached by
a reader that stops before it, and one that stops before it hides records from a reader that does not. So what plans and
what reads (`ranges`, `range_reader`) take properties that were decided here, and nothing else in the pipeline names a
level.
"""

from collections.abc import Iterable, Mapping
from typing import Final, NewType

from kctl.client.admin import LATEST, Admin
from kctl.client.cluster import TopicPartition

ReadingProperties = NewType("ReadingProperties", dict[str, object])
"""Kafka properties with the isolation level by which one side of a job is planned and read."""
_NAME: Final = "isolation.level"
_COMMITTED: Final = "read_committed"
UNCOMMITTED: Final = "read_uncommitted"
"""The level of ends that no open transaction hides."""


def as_given(properties: Mapping[str, object]) -> ReadingProperties:
    """Return the properties of Spark's data source, which reads as Spark's own connector: uncommitted unless asked."""
    return ReadingProperties(dict(properties))


def of_source(properties: Mapping[str, object]) -> ReadingProperties:
    """Return the properties of the source of a job: committed unless they say otherwise, in each of them."""
    return ReadingProperties({_NAME: _COMMITTED, **properties})


def of_target(properties: Mapping[str, object]) -> ReadingProperties:
    """Return the properties of a copy: committed whatever they say, for an aborted transaction is no part of it."""
    return ReadingProperties({**properties, _NAME: _COMMITTED})


def with_open_transactions(properties: Mapping[str, object]) -> ReadingProperties:
    """Return properties whose ends are behind open transactions, so that who reads `of_target` waits for those."""
    return ReadingProperties({**properties, _NAME: UNCOMMITTED})


def committed_ends(admin: Admin, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
    """Return the ends to which partitions are read `of_target`. Raises: KafkaError: of the first that has none."""
    asked = dict.fromkeys(partitions, LATEST)
    found = admin.list_offsets(asked, isolation_level=_COMMITTED)
    found.raise_first()
    return {tp: found[tp].offset for tp in asked}


def have_open_transactions(admin: Admin, partitions: Iterable[TopicPartition]) -> bool:
    """Whether one of the partitions has an open transaction, as far as brokers answer."""
    asked = dict.fromkeys(partitions, LATEST)
    committed = admin.list_offsets(asked, isolation_level=_COMMITTED).done
    ends = admin.list_offsets(asked, isolation_level=UNCOMMITTED).done
    return any(committed[tp].offset < ends[tp].offset for tp in committed if tp in ends)
