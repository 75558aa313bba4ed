"""Batches of a stream that were planned before a restart, against topics that were deleted or recreated since."""

from contextlib import ExitStack

import pytest

from kctl.client.admin import LATEST
from kctl.client.errors import BrokerError
from kctl.pipeline.ranges import OffsetRange, Planner, Selection
from kctl.pipeline.source.batch_reader import RangePartition
from kctl.pipeline.source.failures import SourceError
from kctl.pipeline.source.options import read_options
from kctl.pipeline.source.stream_offsets import JsonOffsets, StreamOffsets, as_json
from kctl.pipeline.source.stream_reader import KctlStreamReader
from tests.sim.kit import SimCluster
from tests.sim.pipeline.test_ranges import properties, run, runtime
from tests.sim.virtual import Hub


def planned_again(cluster: SimCluster, start: JsonOffsets, end: JsonOffsets, *, fails: bool) -> list[OffsetRange]:
    """Return the ranges of a batch that a checkpoint has and Spark plans again after a restart."""
    options = {"kafka.bootstrap.servers": cluster.bootstrap, "subscribePattern": ".*"}
    reader = KctlStreamReader(read_options(options | {"failOnDataLoss": str(fails)}, is_stream=True), ["value"])
    with Planner(properties(cluster), runtime(cluster, f"planner {cluster.hub.now_ms}")) as planner:
        reader._planner = planner
        found = reader.partitions(start, end)
        return [one for each in found if isinstance(each, RangePartition) for one in each.ranges]


def recreate(cluster: SimCluster, count: int) -> StreamOffsets:
    """Delete topic t, create it with some records in each partition, and return its offsets and id."""
    if "t" in cluster.sandbox.cluster.topics:
        cluster.sandbox.cluster.delete_topic("t")
    cluster.sandbox.cluster.create_topic("t", 3)
    for partition in range(3):
        cluster.write(partition, count)
    with Planner(properties(cluster), runtime(cluster, f"offsets {cluster.hub.now_ms}")) as planner:
        ends = planner.ends(planner.partitions(Selection(topics=("t",))), LATEST)
        return StreamOffsets(ends, planner.topic_ids, ends)


@pytest.mark.parametrize("fails", [True, False], ids=["failOnDataLoss", "loss allowed"])
def test_batch_over_a_recreated_topic_that_was_deleted_since_has_nothing_to_read(fails: bool) -> None:
    def body() -> None:
        first, second = recreate(cluster, 10), recreate(cluster, 20)
        again = planned_again(cluster, as_json(first), as_json(second), fails=False)
        assert [(each.partition, each.start_offset, each.end_offset) for each in again] == [
            (n, 0, 20) for n in range(3)
        ]
        assert {each.topic_id for each in again} == {second.topic_id("t")}
        cluster.sandbox.cluster.delete_topic("t")
        if fails:
            with pytest.raises(SourceError, match="topic t was deleted and recreated"):
                planned_again(cluster, as_json(first), as_json(second), fails=True)
        else:
            assert planned_again(cluster, as_json(first), as_json(second), fails=False) == []

    with Hub(seed=7) as hub:
        cluster = SimCluster(hub)
        run(cluster, body)


def test_partitions_that_do_not_exist_are_left_out_only_where_asked() -> None:
    def body() -> None:
        known = recreate(cluster, 10).offsets
        unknown = [tp._replace(topic="u") for tp in known]
        with Planner(properties(cluster), runtime(cluster)) as planner:
            assert planner.ends([*known, *unknown], LATEST, skip_unknown=True) == known
            with pytest.raises(BrokerError, match="UNKNOWN_TOPIC_OR_PARTITION"):
                planner.ends([*known, *unknown], LATEST)

    with Hub(seed=7) as hub:
        cluster = SimCluster(hub)
        run(cluster, body)


@pytest.mark.parametrize(
    ("start", "keeps_starts"),
    [("earliest", True), ("latest", True), ("earliest", False)],
    ids=["earliest", "latest", "checkpoint without starts"],
)
def test_first_batch_is_the_same_after_a_restart_with_more_partitions(start: str, keeps_starts: bool) -> None:
    def reader(name: str) -> KctlStreamReader:
        options = {"kafka.bootstrap.servers": cluster.bootstrap, "subscribe": "t", "startingOffsets": start}
        made = KctlStreamReader(read_options(options, is_stream=True), ["value"])
        made._planner = stack.enter_context(Planner(properties(cluster), runtime(cluster, name)))
        return made

    def ranges(of: KctlStreamReader, begin: JsonOffsets, end: JsonOffsets) -> list[tuple[int, int, int]]:
        found = of.partitions(begin, end)
        return sorted(
            (one.partition, one.start_offset, one.end_offset)
            for each in found
            if isinstance(each, RangePartition)
            for one in each.ranges
        )

    def body() -> None:
        recreate(cluster, 10)
        first = reader("first")
        begin = first.initialOffset()
        assert first.latestOffset() == begin or start == "earliest"
        for partition in range(3):
            cluster.write(partition, 5)
        end = first.latestOffset()
        planned = ranges(first, begin, end)
        assert planned == [(n, 0 if start == "earliest" else 10, 15) for n in range(3)]
        cluster.sandbox.cluster.add_partitions("t", 5)
        for partition in range(5):
            cluster.write(partition, 1)
        again = reader("again")
        kept = {key: value for key, value in end.items() if keeps_starts or key != "#starts"}
        assert ranges(again, again.initialOffset(), kept) == planned
        last = again.latestOffset()
        assert "#starts" not in last
        assert ranges(again, end, last) == [(0, 15, 16), (1, 15, 16), (2, 15, 16), (3, 0, 1), (4, 0, 1)]

    with Hub(seed=7) as hub, ExitStack() as stack:
        cluster = SimCluster(hub)
        run(cluster, body)
