"""`mirror --groups` and `verify --groups`: consumers continue in the target with the record that they read next."""

import json
from typing import Any

import pytest

from kctl.client.admin import LATEST, Admin
from kctl.client.cluster import TopicPartition
from kctl.client.consumer.consumer import Consumer
from kctl.client.producer import Producer
from kctl.pipeline.group_selection import GroupSelection
from kctl.pipeline.jobs.mirror import MirrorRequest, mirror
from kctl.pipeline.jobs.mirror_groups import ALREADY_THERE, GroupOffset
from kctl.pipeline.jobs.verify import VerifyRequest, verify
from kctl.pipeline.session import Session
from tests.pipeline.copies import run_job
from tests.pipeline.exports import produce
from tests.support.kafka.cluster import KafkaCluster

# PySpark leaves sockets to the garbage collector.
pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")

PARTITIONS = 2


@pytest.fixture(scope="module")
def topic(kafka_newest: KafkaCluster) -> str:
    """A topic with gaps: markers, aborted records, and more than one transaction."""
    topic = kafka_newest.create_topic(partitions=PARTITIONS)
    produce(kafka_newest.bootstrap(), topic, 300, partitions=PARTITIONS)
    writing = {"bootstrap.servers": kafka_newest.bootstrap(), "transactional.id": topic}
    with Producer(writing) as producer:
        producer.init_transactions()
        for number in range(8):
            producer.begin_transaction()
            for partition in range(PARTITIONS):
                producer.send(topic, b"in transaction %d" % number, partition=partition)
            if number % 2:
                producer.commit_transaction()
            else:
                producer.abort_transaction()
    return topic


def mirroring(source: KafkaCluster, target: KafkaCluster, topic: str, *groups: str) -> MirrorRequest:
    """Return a mirror under the same name, with small transactions of which each has a marker."""
    return MirrorRequest(
        (topic,), source.client_properties(), target.client_properties(), create=True, groups=GroupSelection(groups)
    )


def verifying(source: KafkaCluster, target: KafkaCluster, topic: str, *groups: str) -> VerifyRequest:
    return VerifyRequest(
        topic, source.client_properties(), topic, target.client_properties(), groups=GroupSelection(groups)
    )


def commit(kafka: KafkaCluster, group: str, topic: str, *offsets: int) -> None:
    with Admin(kafka.client_properties()) as admin:
        places = {TopicPartition(topic, partition): offset for partition, offset in enumerate(offsets)}
        admin.alter_group_offsets(group, places).raise_first()


def ends(kafka: KafkaCluster, topic: str) -> list[int]:
    with Admin(kafka.client_properties()) as admin:
        found = admin.list_offsets({TopicPartition(topic, partition): LATEST for partition in range(PARTITIONS)})
        return [found[TopicPartition(topic, partition)].offset for partition in range(PARTITIONS)]


def next_values(kafka: KafkaCluster, topic: str, group: str) -> dict[int, list[Any]]:
    """Return what consumers of the group would read from each partition, without committing it."""
    config = {**kafka.client_properties(), "group.id": group, "enable.auto.commit": False}
    found: dict[int, list[Any]] = {}
    with Consumer({**config, "isolation.level": "read_committed", "auto.offset.reset": "none"}) as consumer:
        partitions = [TopicPartition(topic, number) for number in range(PARTITIONS)]
        consumer.assign(partitions)
        ends = consumer.end_offsets(partitions)
        while any(consumer.position(tp) < ends[tp] for tp in partitions):
            for record in consumer.poll(10):
                found.setdefault(record.partition, []).append(record.value)
    return found


def test_groups_continue_without_gap_or_repeat(
    kafka_newest: KafkaCluster, kafka_3_9: KafkaCluster, session: Session, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kctl.pipeline.jobs.mirror.COMMIT_ROWS", 40)
    groups = [f"{topic}-{name}" for name in ("start", "middle", "late", "end")]
    for group, offsets in zip(groups, ((0, 0), (77, 130), (151, 155), ends(kafka_newest, topic)), strict=True):
        commit(kafka_newest, group, topic, *offsets)
    request = mirroring(kafka_newest, kafka_3_9, topic, *groups)
    done = mirror(request, session=session)
    assert [(each.group, each.problem) for each in done.group_offsets] == [
        (group, "") for group in sorted(groups) for _ in range(PARTITIONS)
    ]
    for group in groups:
        assert next_values(kafka_3_9, topic, group) == next_values(kafka_newest, topic, group), group
    shifted = [each.target_offset != each.source_offset for each in done.group_offsets if each.source_offset]
    assert any(shifted), "offsets of source and target are to differ, or the test shows nothing"
    again = mirror(request, session=session)
    assert {each.problem for each in again.group_offsets} == {ALREADY_THERE}
    proofs = verify(verifying(kafka_newest, kafka_3_9, topic, *groups), session=session).groups
    assert [each.continues for each in proofs] == ["same"] * len(groups) * PARTITIONS


def test_groups_that_cannot_be_carried_over_are_named(
    kafka_newest: KafkaCluster, kafka_3_9: KafkaCluster, session: Session, topic: str
) -> None:
    further, busy = f"{topic}-further", f"{topic}-busy"
    request = mirroring(kafka_newest, kafka_3_9, topic, further, busy)
    mirror(request._replace(groups=GroupSelection()), session=session)
    commit(kafka_newest, further, topic, 10, 10)
    commit(kafka_3_9, further, topic, 100, 10)
    commit(kafka_newest, busy, topic, 20, 20)
    config = {**kafka_3_9.client_properties(), "group.id": busy, "enable.auto.commit": False}
    with Consumer({**config, "auto.offset.reset": "earliest"}) as consumer:
        consumer.subscribe([topic])
        assert consumer.poll(30)
        found = mirror(request, session=session).group_offsets
    assert [(each.group, each.partition, each.problem) for each in found] == [
        (busy, 0, "the group has active members in the target"),
        (busy, 1, "the group has active members in the target"),
        (further, 0, "the group has already committed offset 100 in the target, which is further ahead"),
        (further, 1, ALREADY_THERE if found[3].target_offset == 10 else ""),
    ]
    assert [each.is_left_behind for each in found[:3]] == [True] * 3


def test_verify_finds_groups_that_skip_repeat_or_are_missing(
    kafka_newest: KafkaCluster, kafka_3_9: KafkaCluster, session: Session, topic: str
) -> None:
    names = [f"{topic}-{name}" for name in ("missing", "repeats", "skips")]
    carried = mirroring(kafka_newest, kafka_3_9, topic, *names)
    for name in names:
        commit(kafka_newest, name, topic, 50, 50)
    places = {(each.group, each.partition): each for each in mirror(carried, session=session).group_offsets}
    for name, shift in zip(names[1:], (-3, 3), strict=True):
        offsets = [_place(places[name, partition]) + shift for partition in range(PARTITIONS)]
        commit(kafka_3_9, name, topic, *offsets)
    with Admin(kafka_3_9.client_properties()) as admin:
        admin.delete_groups([names[0]]).raise_first()
    proofs = verify(verifying(kafka_newest, kafka_3_9, topic, *names), session=session).groups
    assert [(each.group, each.continues, each.records) for each in proofs] == [
        (name, each, records)
        for name, each, records in zip(names, ("missing", "repeats", "skips"), (0, 3, 3), strict=True)
        for _ in range(PARTITIONS)
    ]


def _place(found: GroupOffset) -> int:
    assert found.target_offset is not None
    return found.target_offset


def test_command_writes_and_proves_offsets(kafka_newest: KafkaCluster, kafka_3_9: KafkaCluster, topic: str) -> None:
    group = f"{topic}-command"
    commit(kafka_newest, group, topic, 40, 41)
    at = (topic, "-b", kafka_newest.bootstrap(), "--to-bootstrap", kafka_3_9.bootstrap(), "--master", "local[1]")
    mirrored = run_job("mirror", *at, "--create", "--groups", f"/{group[:-4]}.*/", "--output", "json")
    assert mirrored.code == 0, mirrored.stderr
    assert [each["group"] for each in json.loads(mirrored.stdout)["groups"]] == [group] * PARTITIONS
    assert f"{group} on {topic}-0: continues at offset " in mirrored.stderr
    commit(kafka_3_9, group, topic, 0, 0)
    verified = run_job("verify", *at, "--groups", group)
    assert verified.code == 3
    assert f"group {group} on {topic}-0: repeats 40 records at offset 0 (offset in the source: 40)" in verified.stderr
