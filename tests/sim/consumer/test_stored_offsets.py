"""store_offsets: commits of stored offsets alone, by every way that an offset is committed."""

from typing import Any

import pytest

from kctl.client import Consumer, TopicPartition
from kctl.client.errors import ConfigError, IllegalStateError
from tests.sim.kit import SimCluster, drain, run, settle

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)
STORED: dict[str, Any] = {"enable_auto_offset_store": False, "auto_commit_interval_ms": 1000}


def committed(cluster: SimCluster) -> dict[int, int]:
    return {partition: each.offset for (_, partition), each in cluster.sandbox.committed("g").items()}


def reader(cluster: SimCluster, **properties: object) -> Consumer:
    cluster.write(0, 10)
    consumer = cluster.enter(cluster.consumer(group_id="g", **{**STORED, **properties}))
    consumer.assign([T0])
    drain(consumer, 10)
    return consumer


def test_automatic_commits_commit_the_stored_offset_alone() -> None:
    def app(cluster: SimCluster) -> None:
        consumer = reader(cluster)
        consumer.poll(3)
        assert committed(cluster) == {}
        consumer.store_offsets({T0: 4})
        consumer.poll(3)
        assert committed(cluster) == {0: 4}

    run(app)


@pytest.mark.parametrize("is_async", [False, True])
def test_commit_with_offsets_is_not_undone_by_older_stored_offset(is_async: bool) -> None:
    def app(cluster: SimCluster) -> None:
        consumer = reader(cluster)
        consumer.store_offsets({T0: 4})
        if is_async:
            consumer.commit_async({T0: 9, T1: 1})
        else:
            consumer.commit_sync({T0: 9, T1: 1}, timeout=5)
        consumer.poll(3)
        assert committed(cluster) == {0: 9, 1: 1}
        consumer.store_offsets({T0: 10})
        assert consumer.close(5).committed
        assert committed(cluster) == {0: 10, 1: 1}

    run(app, topics={"t": 2})


def test_close_and_commits_without_offsets_commit_the_stored_offset() -> None:
    def app(cluster: SimCluster) -> None:
        consumer = reader(cluster, enable_auto_commit=False)
        consumer.commit_sync(timeout=5)
        assert committed(cluster) == {}
        consumer.store_offsets({T0: 3})
        consumer.commit_sync(timeout=5)
        assert committed(cluster) == {0: 3}
        consumer.store_offsets({T0: 5})
        consumer.commit_async()
        consumer.commit_sync({}, timeout=5)
        assert committed(cluster) == {0: 5}

    run(app)

    def closing(cluster: SimCluster) -> None:
        consumer = reader(cluster)
        consumer.store_offsets({T0: 7})
        assert consumer.close(5).committed
        assert committed(cluster) == {0: 7}

    run(closing)


def test_revoked_partition_is_committed_at_its_stored_offset_and_forgotten() -> None:
    def app(cluster: SimCluster) -> None:
        for partition in (0, 1):
            cluster.write(partition, 10)
        first = cluster.enter(cluster.classic_member("g", **{**STORED, "auto_commit_interval_ms": 900_000}))
        drain(first, 20)
        first.store_offsets({T0: 2, T1: 6})
        second = cluster.enter(cluster.classic_member("g", **STORED))
        settle(first, second)
        (moved,) = second.assignment
        assert committed(cluster)[moved.partition] == {0: 2, 1: 6}[moved.partition]
        with pytest.raises(IllegalStateError, match=f"{moved} is not assigned"):
            first.store_offsets({moved: 9})

    run(app, topics={"t": 2})


def test_partition_that_is_assigned_again_has_no_stored_offset() -> None:
    def app(cluster: SimCluster) -> None:
        consumer = reader(cluster, enable_auto_commit=False)
        consumer.store_offsets({T0: 7})
        consumer.assign([])
        consumer.assign([T0])
        consumer.commit_sync(timeout=5)
        assert committed(cluster) == {}

    run(app)


def test_no_offset_is_stored_if_one_partition_is_not_assigned() -> None:
    def app(cluster: SimCluster) -> None:
        consumer = reader(cluster, enable_auto_commit=False)
        with pytest.raises(IllegalStateError, match="t-1 is not assigned"):
            consumer.store_offsets({T0: 7, T1: 1})
        consumer.commit_sync(timeout=5)
        assert committed(cluster) == {}

    run(app, topics={"t": 2})


def test_store_offsets_needs_its_property_and_a_group() -> None:
    def app(cluster: SimCluster) -> None:
        consumer = cluster.enter(cluster.consumer(group_id="g"))
        consumer.assign([T0])
        with pytest.raises(IllegalStateError, match=r"needs enable\.auto\.offset\.store=false"):
            consumer.store_offsets({T0: 1})
        with pytest.raises(ConfigError, match=r"needs group\.id"):
            cluster.consumer(enable_auto_offset_store=False)

    run(app)
