"""Patterns of topics in `mirror`, `export`, and `sync`: topics that appear or disappear during a run, without Spark."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from kctl.client.admin import Admin, ConfigResource, NewTopic, ResourceType
from kctl.client.errors import BrokerError, ConfigError
from kctl.pipeline import isolation
from kctl.pipeline.job_errors import ExportDataError, RecordLossError
from kctl.pipeline.jobs.export import Batch, ExportRequest, export, wanted_partitions
from kctl.pipeline.jobs.mirror import MirrorRequest, mirror, plan_mirror
from kctl.pipeline.jobs.mirror_positions import POSITIONS_TOPIC
from kctl.pipeline.jobs.sync import SyncRequest, plan_sync
from kctl.pipeline.ranges import Planner, Selection
from kctl.pipeline.session import Session
from kctl.pipeline.targets import facts_in
from kctl.sandbox.sandbox import Sandbox
from tests.pipeline.exports import in_export, on_topic
from tests.support.spark_in_process import session_in_process
from tests.support.topic_patterns import Ended, Steps, Topics

RETENTION = {"retention.ms": "-1"}


@pytest.fixture
def topics() -> Iterator[Topics]:
    with Sandbox(nodes=1).serve() as served:
        yield Topics(served.bootstrap)


@pytest.fixture
def target() -> Iterator[dict[str, str]]:
    """The properties of another cluster."""
    with Sandbox(nodes=1).serve() as served:
        yield {"bootstrap.servers": served.bootstrap}


@pytest.fixture
def session() -> Iterator[Session]:
    with session_in_process() as found:
        yield found


def test_mirror_with_a_pattern_copies_topics_and_partitions_that_appear_during_the_run(
    topics: Topics, target: dict[str, str], session: Session
) -> None:
    request = MirrorRequest((), topics.properties, target, pattern=topics.pattern, create=True, interval_ms=1)

    def grow() -> None:
        topics.grow("a", 4)
        topics.produce("a", 40, first=100, partitions=4)

    steps = Steps(lambda: topics.add("a", 100), lambda: topics.add("b", 60, RETENTION), grow, lambda: None)
    with pytest.raises(Ended):
        mirror(request, session=session, on_progress=steps)
    copied = [row for name in "ab" for row in on_topic(target, topics.name(name))]
    assert [row._replace(offset=0) for row in copied] == [row._replace(offset=0) for row in topics.rows("a", "b")]
    plan = plan_mirror(request._replace(interval_ms=None))
    assert (plan.offsets, plan.resumed, plan.missing, plan.grown, plan.problems) == (0, 6, {}, {}, ())
    positions = ConfigResource(ResourceType.TOPIC, POSITIONS_TOPIC)
    with Admin(target) as admin:
        assert admin.describe_configs([positions])[positions]["cleanup.policy"].value == "compact"
    topics.delete("a")
    assert set(plan_mirror(request).targets) == {topics.name("b")}


def test_mirror_that_continues_is_rejected_if_the_target_of_a_new_topic_would_lose_records(
    topics: Topics, target: dict[str, str], session: Session
) -> None:
    topics.add("a", 10)
    with Admin(target) as admin:
        admin.create_topics([NewTopic(topics.name("b"), 2, configs={"retention.ms": "1000"})]).raise_first()
    request = MirrorRequest((), topics.properties, target, pattern=topics.pattern, create=True, interval_ms=1)
    with pytest.raises(RecordLossError, match=f"{topics.name('b')}: retention.ms=1000 deletes records"):
        mirror(request, session=session, on_progress=Steps(lambda: topics.add("b", 10)))
    assert len(on_topic(target, topics.name("a"))) == 10


def test_mirror_with_a_pattern_leaves_out_the_topic_of_positions(topics: Topics, target: dict[str, str]) -> None:
    request = MirrorRequest((), topics.properties, target, create=True)
    with pytest.raises(
        ConfigError, match=f"cannot mirror to topic {POSITIONS_TOPIC}: it stores the progress of mirrors"
    ):
        plan_mirror(request._replace(topics=(POSITIONS_TOPIC,)))
    for wrong in (request, request._replace(topics=("t",), pattern="t")):
        with pytest.raises(ConfigError, match="a mirror needs topic names or a pattern"):
            plan_mirror(wrong)
    with pytest.raises(ConfigError, match="cannot mirror several topics to one target topic: "):
        plan_mirror(request._replace(pattern="t", target_topic="one"))


def test_continuous_export_keeps_the_configs_of_topics_that_appear(
    topics: Topics, session: Session, tmp_path: Path
) -> None:
    topics.add("a", 10)
    request = ExportRequest(Selection(pattern=topics.pattern), tmp_path / "out", topics.properties, interval_ms=1)
    with pytest.raises(Ended):
        export(request, session=session, on_progress=Steps(lambda: topics.add("b", 20, RETENTION), lambda: None))
    assert in_export(tmp_path / "out") == topics.rows("a", "b")
    assert facts_in(tmp_path / "out", {}).topics[topics.name("b")].configs == RETENTION


def test_partition_of_a_batch_that_was_deleted_is_an_error_unless_loss_is_allowed(
    topics: Topics, tmp_path: Path
) -> None:
    topics.add("a", 0)
    topics.add("b", 0)
    request = ExportRequest(Selection(pattern=topics.pattern), tmp_path, topics.properties)
    with Planner(isolation.of_source(topics.properties)) as planner:
        partitions = planner.partitions(request.selection)
        topics.delete("b")
        batch = Batch(dict.fromkeys(partitions, 5), {})
        with pytest.raises(ExportDataError, match=f"cannot export deleted partitions: {topics.name('b')}-0"):
            wanted_partitions(request, planner, batch)
        assert wanted_partitions(request._replace(allow_loss=True), planner, batch) == partitions[:2]


def test_plan_of_a_sync_has_the_topics_that_match(topics: Topics, tmp_path: Path) -> None:
    request = SyncRequest(ExportRequest(Selection(pattern=topics.pattern), tmp_path / "out", topics.properties))
    with pytest.raises(BrokerError, match="no topic matches"):
        plan_sync(request)
    topics.add("a", 10)
    topics.add("b", 5)
    assert plan_sync(request).offsets == 15
    other = request._replace(export=request.export._replace(selection=Selection(pattern=f"{topics.pattern}|x")))
    assert other.checkpoint_folder != request.checkpoint_folder


@pytest.mark.parametrize("selection", [Selection(), Selection(("t",), "t")])
def test_sync_without_topics_or_with_names_and_a_pattern_is_rejected(selection: Selection, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="a sync needs topic names or a pattern"):
        plan_sync(SyncRequest(ExportRequest(selection, tmp_path, {"bootstrap.servers": "127.0.0.1:1"})))


def test_pattern_that_spark_would_read_otherwise_is_rejected(tmp_path: Path) -> None:
    exported = ExportRequest(Selection(pattern=r"orders-\Z"), tmp_path, {"bootstrap.servers": "127.0.0.1:1"})
    with pytest.raises(ConfigError, match=r"unsupported pattern 'orders-\\Z' for a sync: kctl does not support \\Z"):
        plan_sync(SyncRequest(exported))


def test_checkpoint_whose_path_spark_reads_as_a_pattern_is_rejected(tmp_path: Path) -> None:
    exported = ExportRequest(Selection(("t",)), tmp_path / "out*[a]", {"bootstrap.servers": "127.0.0.1:1"})
    with pytest.raises(ConfigError, match=r"out\*\[a\]/_checkpoint/t: for Spark, \* \[ \] in a path is a wildcard"):
        plan_sync(SyncRequest(exported))
