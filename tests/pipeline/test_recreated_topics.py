"""Topics that are deleted and recreated, positions that expire: copies stop with an error, and never mix or repeat."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kctl.client.admin import Admin
from kctl.client.cluster import TopicPartition
from kctl.client.errors import ConfigError
from kctl.client.producer import Producer
from kctl.pipeline.job_errors import ExportDataError, MirrorPositionError
from kctl.pipeline.jobs.export import ExportRequest, export
from kctl.pipeline.jobs.mirror import MirrorRequest, mirror, plan_mirror
from kctl.pipeline.jobs.mirror_positions import POSITIONS_TOPIC, MirrorTarget, committed_offsets
from kctl.pipeline.ranges import FROM_EARLIEST, TO_LATEST, RangeBound, Selection
from kctl.pipeline.running import JobProgress
from kctl.pipeline.session import Session
from tests.pipeline.copies import committed_rows, content
from tests.pipeline.exports import in_export, produce
from tests.support.bounds import bound
from tests.support.kafka.cluster import KafkaCluster
from tests.support.kafka.requirements import have
from tests.support.kafka.toolchain import NEWEST_KAFKA, find_tool
from tests.support.kafka.waiting import wait_until

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")

FORGETFUL = {"offsets.retention.minutes": "1", "offsets.retention.check.interval.ms": "2000"}
EXPIRY_BOUND_MS = bound(150_000)


@pytest.fixture(scope="module")
def forgetful() -> Iterator[KafkaCluster]:
    """A broker that deletes the offsets of groups without members after a minute instead of a week."""
    have(lambda: find_tool("java", "openjdk-17-jdk-headless"))
    with have(lambda: KafkaCluster(NEWEST_KAFKA, 1, FORGETFUL)) as cluster:
        yield cluster


def properties(kafka: KafkaCluster) -> dict[str, object]:
    return {"bootstrap.servers": kafka.bootstrap(), "default.api.timeout.ms": "30000", "max.block.ms": "30000"}


def mirroring(kafka: KafkaCluster, topic: str, **more: Any) -> MirrorRequest:
    return MirrorRequest((topic,), properties(kafka), properties(kafka), f"{topic}-copy", create=True, **more)


def recreate(kafka: KafkaCluster, topic: str, count: int, partitions: int = 1) -> None:
    with Admin(properties(kafka)) as admin:
        admin.delete_topics([topic]).raise_first()
        wait_until(lambda: topic not in admin.list_topics(), bound(30_000), f"{topic} to be gone")
    kafka.create_topic(topic, partitions=partitions)
    produce(kafka.bootstrap(), topic, count, partitions=partitions)


@pytest.mark.parametrize("count", [40, 300], ids=["shorter", "longer"])
def test_export_and_mirror_of_recreated_topic_stop_with_an_error(
    kafka_newest: KafkaCluster, session: Session, tmp_path: Path, count: int
) -> None:
    topic = kafka_newest.create_topic()
    produce(kafka_newest.bootstrap(), topic, 100, partitions=1)
    exporting = ExportRequest(Selection(topics=(topic,)), tmp_path / "export", properties(kafka_newest))
    export(exporting, session=session)
    request = mirroring(kafka_newest, topic)
    mirror(request, session=session)
    before, copied = in_export(tmp_path / "export"), committed_rows(kafka_newest, f"{topic}-copy")
    recreate(kafka_newest, topic, count)
    with pytest.raises(ExportDataError, match=f"topic {topic} was deleted and recreated"):
        export(exporting, session=session)
    with pytest.raises(MirrorPositionError, match=f"topic {topic} was deleted and recreated") as refused:
        mirror(request, session=session)
    assert "--restart" in refused.value.hint
    assert in_export(tmp_path / "export") == before
    assert committed_rows(kafka_newest, f"{topic}-copy") == copied
    restarted = mirror(request._replace(start=FROM_EARLIEST), session=session)
    assert restarted.records == count
    source = content(committed_rows(kafka_newest, topic))
    assert content(committed_rows(kafka_newest, f"{topic}-copy")) == content(copied) + source
    assert mirror(request, session=session).records == 0, "the next run continues where the restarted one ended"


def test_recreated_target_is_filled_from_the_beginning(kafka_newest: KafkaCluster, session: Session) -> None:
    topic = kafka_newest.create_topic()
    produce(kafka_newest.bootstrap(), topic, 100, partitions=1)
    request = mirroring(kafka_newest, topic)
    assert mirror(request, session=session).records == 100
    recreate(kafka_newest, f"{topic}-copy", 0)
    assert mirror(request, session=session).records == 100
    assert content(committed_rows(kafka_newest, f"{topic}-copy")) == content(committed_rows(kafka_newest, topic))


def test_target_with_records_and_no_position_is_refused_until_a_position_is_chosen(
    kafka_newest: KafkaCluster, session: Session
) -> None:
    topic = kafka_newest.create_topic(partitions=2)
    produce(kafka_newest.bootstrap(), topic, 100, partitions=2)
    kafka_newest.create_topic(f"{topic}-copy", partitions=2)
    produce(kafka_newest.bootstrap(), f"{topic}-copy", 10, partitions=1)
    request = mirroring(kafka_newest, topic)
    with pytest.raises(
        MirrorPositionError,
        match=f"the target has records of {topic}-0, but the position of the earlier mirror is missing",
    ) as refused:
        plan_mirror(request)
    assert "--from-position 0=OFFSET" in refused.value.hint
    chosen = RangeBound(partitions=((TopicPartition(topic, 0), 30),), option="--from-position")
    with pytest.raises(ConfigError, match=f"--from-position: {topic}-0 has offsets 0 to 50, not 51"):
        plan_mirror(request._replace(start=chosen._replace(partitions=((TopicPartition(topic, 0), 51),))))
    with pytest.raises(ConfigError, match=f"--from-position names {topic}-2"):
        plan_mirror(request._replace(start=chosen._replace(partitions=((TopicPartition(topic, 2), 0),))))
    assert plan_mirror(request._replace(start=TO_LATEST)).offsets == 0
    assert mirror(request._replace(start=chosen), session=session).records == 20 + 50
    assert mirror(request, session=session).records == 0


def test_mirror_whose_offsets_expired_continues_where_it_ended(forgetful: KafkaCluster, session: Session) -> None:
    topic = forgetful.create_topic(partitions=2)
    produce(forgetful.bootstrap(), topic, 100, partitions=2)
    request = mirroring(forgetful, topic, name="weekly")
    assert mirror(request, session=session).records == 100
    target = MirrorTarget(f"{topic}-copy", f"kctl-mirror.weekly.{topic}")
    with Admin(properties(forgetful)) as admin:
        assert set(committed_offsets(admin, target, range(2)).values()) != {None}
        wait_until(
            lambda: set(committed_offsets(admin, target, range(2)).values()) == {None},
            EXPIRY_BOUND_MS,
            "offsets to expire",
        )
    plan = plan_mirror(request)
    assert (plan.offsets, plan.resumed) == (0, 2)
    assert mirror(request, session=session).records == 0
    produce(forgetful.bootstrap(), topic, 20, partitions=1, first=100)
    assert mirror(request, session=session).records == 20
    assert content(committed_rows(forgetful, f"{topic}-copy")) == content(committed_rows(forgetful, topic))
    with Admin(properties(forgetful)) as admin:
        admin.delete_topics([POSITIONS_TOPIC]).raise_first()
        admin.delete_groups([target.group_id]).raise_first()
    with pytest.raises(MirrorPositionError, match="the position of the earlier mirror is missing"):
        mirror(request, session=session)


def test_partition_that_is_idle_while_its_offset_expires_is_not_copied_again(
    forgetful: KafkaCluster, session: Session
) -> None:
    class Enough(BaseException):
        pass

    topic = forgetful.create_topic(partitions=2)
    produce(forgetful.bootstrap(), topic, 100, partitions=2)
    target = MirrorTarget(f"{topic}-copy", f"kctl-mirror.idle.{topic}")
    idle_is_expired = False
    looks_after = 0

    def send(partition: int) -> None:
        with Producer(properties(forgetful)) as producer:
            producer.send(topic, b"later", partition=partition).result(30)

    def keep_one_partition_busy(progress: JobProgress) -> None:
        nonlocal idle_is_expired, looks_after
        if progress.phase != "waiting for records":
            return
        if idle_is_expired:
            looks_after += 1
            if looks_after == 2:
                raise Enough
        with Admin(properties(forgetful)) as admin:
            idle_is_expired = committed_offsets(admin, target, range(2))[0] is None
        send(0 if idle_is_expired else 1)

    request = mirroring(forgetful, topic, name="idle", interval_ms=5000)
    with pytest.raises(Enough):
        mirror(request, session=session, on_progress=keep_one_partition_busy)
    assert content(committed_rows(forgetful, f"{topic}-copy")) == content(committed_rows(forgetful, topic))
