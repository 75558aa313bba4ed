"""Mirrors and replays whose positions were deleted or are older than they were: rejected, or each record once."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import pytest

from kctl.client.admin import Admin, ConfigResource, ResourceType
from kctl.client.cluster import TopicPartition
from kctl.client.producer import Producer
from kctl.pipeline.group_selection import GroupSelection
from kctl.pipeline.job_errors import MirrorPositionError
from kctl.pipeline.jobs.mirror import MirrorRequest, mirror, plan_mirror
from kctl.pipeline.jobs.mirror_positions import POSITIONS_TOPIC
from kctl.pipeline.jobs.replay import ReplayRequest, replay
from kctl.sandbox.sandbox import Sandbox
from tests.pipeline.exports import on_topic
from tests.support.spark_in_process import session_in_process
from tests.support.topic_patterns import Ended, Steps

EACH = 5
ROUNDS = 3
GROUP = "kctl-mirror.m.t"


class Sides(NamedTuple):
    """The properties of two clusters; topic `t` of the source has two partitions, `all` of the target one."""

    source: dict[str, object]
    target: dict[str, object]


@pytest.fixture
def sides() -> Iterator[Sides]:
    with Sandbox(nodes=1, topics={"t": 2}).serve() as one, Sandbox(nodes=1, topics={"all": 1}).serve() as other:
        yield Sides({"bootstrap.servers": one.bootstrap}, {"bootstrap.servers": other.bootstrap})


def produce(sides: Sides) -> None:
    """Send EACH more records to both partitions of the source."""
    with Producer(sides.source) as producer:
        for partition in range(2):
            for _ in range(EACH):
                producer.send("t", b"v", partition=partition)


def mirroring(sides: Sides) -> MirrorRequest:
    return MirrorRequest(("t",), sides.source, sides.target, name="m", create=True)


def run_mirror(sides: Sides) -> None:
    with session_in_process() as session:
        mirror(mirroring(sides), session=session)


def run_replay(sides: Sides) -> None:
    with session_in_process() as session:
        replay(ReplayRequest("t", sides.source, sides.target, to_topic="all", name="r"), session=session)


def committed(sides: Sides) -> dict[str, str]:
    return {"bootstrap.servers": str(sides.target["bootstrap.servers"]), "isolation.level": "read_committed"}


def count(sides: Sides, topic: str) -> int:
    return len(on_topic(committed(sides), topic))


def delete_group(admin: Admin) -> None:
    admin.delete_groups([GROUP]).raise_first()


def delete_group_offset(admin: Admin) -> None:
    admin.delete_group_offsets(GROUP, [TopicPartition("t", 0)]).raise_first()


def delete_topic(admin: Admin) -> None:
    admin.delete_topics([POSITIONS_TOPIC]).raise_first()


def delete_records(admin: Admin) -> None:
    """Delete the records of the topic of positions, as a retention does."""
    tp = TopicPartition(POSITIONS_TOPIC, 0)
    admin.delete_records({tp: -1}).raise_first()


def reset_group(admin: Admin) -> None:
    """Set the offsets of the group back, as with the tool of Kafka."""
    admin.alter_group_offsets(GROUP, {TopicPartition("t", number): 0 for number in range(2)}).raise_first()


def age_group(admin: Admin) -> None:
    """Set an offset of the group back, with its metadata, as in a backup."""
    tp = TopicPartition("t", 1)
    old = admin.list_group_offsets(GROUP, [tp])[tp]
    assert old is not None
    admin.alter_group_offsets(GROUP, {tp: old._replace(offset=EACH)}).raise_first()


def delete_both(admin: Admin) -> None:
    delete_group(admin)
    delete_topic(admin)


def delete_both_of_a_partition(admin: Admin) -> None:
    delete_group_offset(admin)
    delete_records(admin)


@pytest.mark.parametrize("lose", [delete_group, delete_group_offset, delete_topic, delete_records])
def test_mirror_without_one_of_its_positions_continues(sides: Sides, lose: Callable[[Admin], None]) -> None:
    for number in range(ROUNDS):
        produce(sides)
        run_mirror(sides)
        assert count(sides, "t") == 2 * EACH * (number + 1)
        with Admin(sides.target) as admin:
            lose(admin)
    produce(sides)
    run_mirror(sides)
    assert count(sides, "t") == 2 * EACH * (ROUNDS + 1)


@pytest.mark.parametrize("age", [reset_group, age_group])
def test_mirror_with_older_group_offsets_continues_at_its_newest_position(
    sides: Sides, age: Callable[[Admin], None]
) -> None:
    for _ in range(ROUNDS):
        produce(sides)
        run_mirror(sides)
    with Admin(sides.target) as admin:
        age(admin)
    produce(sides)
    assert plan_mirror(mirroring(sides)).offsets == 2 * EACH
    run_mirror(sides)
    assert count(sides, "t") == 2 * EACH * (ROUNDS + 1)


@pytest.mark.parametrize("is_before", [True, False], ids=["before the run", "in the run"])
@pytest.mark.parametrize("age", [reset_group, age_group])
def test_mirror_that_repeats_with_older_group_offsets_copies_each_record_once(
    sides: Sides, age: Callable[[Admin], None], is_before: bool
) -> None:
    """The partitions are idle until the last round."""

    def set_back() -> None:
        with Admin(sides.target) as admin:
            age(admin)

    for _ in range(ROUNDS):
        produce(sides)
        run_mirror(sides)
    if is_before:
        set_back()
    steps = Steps(lambda: None if is_before else set_back(), lambda: None, lambda: produce(sides))
    with session_in_process() as session, pytest.raises(Ended):
        mirror(mirroring(sides)._replace(interval_ms=1), session=session, on_progress=steps)
    assert count(sides, "t") == 2 * EACH * (ROUNDS + 1)


def test_groups_of_a_mirror_with_older_group_offsets_continue_at_their_records(sides: Sides) -> None:
    """The reader is at the offset to which the position was set back."""
    tp = TopicPartition("t", 1)
    with Admin(sides.source) as admin:
        admin.alter_group_offsets("reader", {tp: EACH}).raise_first()
    for _ in range(ROUNDS):
        produce(sides)
        run_mirror(sides)
    with Admin(sides.target) as admin:
        age_group(admin)
    with session_in_process() as session:
        result = mirror(mirroring(sides)._replace(groups=GroupSelection(("reader",))), session=session)
    (found,) = result.group_offsets
    assert found.target_offset is not None
    rows = on_topic(committed(sides), "t")
    left = [row for row in rows if row.partition == 1 and row.offset >= found.target_offset]
    assert len(left) == (ROUNDS - 1) * EACH, found


@pytest.mark.parametrize("lose", [delete_both, delete_both_of_a_partition])
def test_mirror_without_positions_is_rejected(sides: Sides, lose: Callable[[Admin], None]) -> None:
    produce(sides)
    run_mirror(sides)
    with Admin(sides.target) as admin:
        lose(admin)
    produce(sides)
    for attempt in (plan_mirror, run_rejected):
        text = (
            r"the target has records of t-0( and 1 other partition)?, but the position of the earlier mirror is missing"
        )
        with pytest.raises(MirrorPositionError, match=text):
            attempt(mirroring(sides))
    assert count(sides, "t") == 2 * EACH


def run_rejected(request: MirrorRequest) -> None:
    with session_in_process() as session:
        mirror(request, session=session)


def test_replay_continues(sides: Sides) -> None:
    for number in range(ROUNDS):
        produce(sides)
        run_replay(sides)
        assert count(sides, "all") == 2 * EACH * (number + 1)


@pytest.mark.parametrize("lose", [delete_topic, delete_records])
def test_replay_without_positions_is_rejected(sides: Sides, lose: Callable[[Admin], None]) -> None:
    produce(sides)
    run_replay(sides)
    with Admin(sides.target) as admin:
        lose(admin)
    produce(sides)
    for _ in range(2):
        with pytest.raises(
            MirrorPositionError,
            match=r"cannot continue replay r: its positions in topic .* were deleted",
        ) as caught:
            run_replay(sides)
        assert "--name" in caught.value.hint
    assert count(sides, "all") == 2 * EACH


@pytest.mark.parametrize("run", [run_mirror, run_replay])
def test_topic_of_positions_that_deletes_old_records_is_rejected(sides: Sides, run: Callable[[Sides], None]) -> None:
    produce(sides)
    run(sides)
    resource = ConfigResource(ResourceType.TOPIC, POSITIONS_TOPIC)
    with Admin(sides.target) as admin:
        admin.alter_configs({resource: {"cleanup.policy": "compact,delete"}}).raise_first()
    produce(sides)
    with pytest.raises(MirrorPositionError, match=r"cleanup.policy=compact,delete deletes old positions"):
        run(sides)
