"""Rows of topics: counts of what is unhealthy, and which partitions are wanted."""

import pytest

from kctl.cli.topic_rows import Health, describe_listing, list_listing
from kctl.client.admin import TopicListing
from kctl.client.cluster import NO_NODE, NO_TOPIC_ID, PartitionInfo, TopicId, TopicInfo

PARTITIONS = {
    0: PartitionInfo("t", 0, 1, 5, (1, 2), (1, 2)),
    1: PartitionInfo("t", 1, 1, 5, (1, 2), (1,)),
    2: PartitionInfo("t", 2, NO_NODE, -1, (2,), (2,), (2,)),
}
ID = TopicId(bytes(15) + b"\x01")


def test_list_counts_partitions_that_are_under_replicated_or_without_a_leader() -> None:
    topics = [TopicListing("t", ID, False, PARTITIONS), TopicListing("no-partitions", TopicId(NO_TOPIC_ID), True)]
    listing = list_listing(topics, Health(), internal=False)
    assert [tuple(row.values()) for row in listing.rows] == [
        ("t", 3, 2, 1, 1, False, "AAAAAAAAAAAAAAAAAAAAAQ"),
        ("no-partitions", 0, None, 0, 0, True, None),
    ]
    assert listing.shown == ["topic", "partitions", "replication_factor", "under_replicated", "offline"]
    assert "internal" in (list_listing(topics, Health(), internal=True).shown or ())


@pytest.mark.parametrize(
    ("health", "partitions"),
    [
        (Health(), [0, 1, 2]),
        (Health(under_replicated=True), [1]),
        (Health(offline=True), [2]),
        (Health(under_replicated=True, offline=True), [1, 2]),
    ],
)
def test_describe_shows_the_wanted_partitions(health: Health, partitions: list[int]) -> None:
    listing = describe_listing([TopicInfo("t", ID, False, None, PARTITIONS)], health)
    assert [row["partition"] for row in listing.rows] == partitions
    listed = list_listing([TopicListing("t", ID, False, PARTITIONS)], health, internal=False)
    assert len(listed.rows) == 1
    healthy = {0: PARTITIONS[0]}
    assert bool(list_listing([TopicListing("t", ID, False, healthy)], health, internal=False).rows) is not health.is_any
