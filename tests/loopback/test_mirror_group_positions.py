"""Positions of a mirror are found where brokers have deleted the offsets of its own group, and behind transactions."""

import pytest

from kctl.client.admin import Admin
from kctl.client.cluster import TopicPartition
from kctl.client.errors import ApiTimeout
from kctl.client.events import ignore_events
from kctl.client.producer import Producer
from kctl.pipeline.jobs.mirror_groups import MirroredTopics, mirrored_ends
from kctl.pipeline.jobs.mirror_positions import (
    POSITIONS_TOPIC,
    MirrorPosition,
    MirrorTarget,
    create_positions_topic,
    find_positions,
)
from kctl.pipeline.jobs.mirror_task import choose_positions
from kctl.pipeline.resume_point import ResumePoint
from kctl.sandbox.sandbox import Sandbox

TARGET = MirrorTarget("copy", "kctl-mirror.m.source", "present")
ENDS = {0: 7, 1: 9}


def test_mirrored_ends_survive_the_expiry_of_the_offsets_of_the_mirror() -> None:
    with Sandbox(nodes=1, topics={"copy": 4}).serve() as served:
        properties: dict[str, object] = {"bootstrap.servers": served.bootstrap}
        positions = {number: MirrorPosition(ResumePoint(offset), "present") for number, offset in ENDS.items()}
        positions[2] = MirrorPosition(ResumePoint(5), "of a deleted target")
        mirrored = MirroredTopics(properties, properties, {"source": TARGET}, ignore_events)
        with Admin(properties) as admin, Producer(properties) as producer:
            create_positions_topic(admin)
            producer.send("copy", b"v", partition=0)
            producer.flush()
            choose_positions(properties, TARGET, positions)
            admin.delete_groups([TARGET.group_id]).raise_first()
        sources = [TopicPartition("source", number) for number in range(4)]
        assert mirrored_ends(mirrored, sources) == {sources[0]: (7, 1), sources[1]: (9, 0)}


def test_position_that_a_transaction_of_another_hides_is_waited_for() -> None:
    with Sandbox(nodes=1, topics={"copy": 1}).serve() as served:
        properties: dict[str, object] = {"bootstrap.servers": served.bootstrap, "default.api.timeout.ms": "1500"}
        other = {**properties, "transactional.id": "another", "transaction.timeout.ms": "60000"}
        with Admin(properties) as admin, Producer(properties) as producer, Producer(other) as holding:
            create_positions_topic(admin)
            producer.send("copy", b"v", partition=0)
            producer.flush()
            holding.init_transactions()
            holding.begin_transaction()
            holding.send(POSITIONS_TOPIC, b"{}", b"another")
            holding.flush()
            choose_positions(properties, TARGET, {0: MirrorPosition(ResumePoint(7), "present")})
            admin.delete_groups([TARGET.group_id]).raise_first()
            with pytest.raises(ApiTimeout):
                find_positions(admin, properties, {"source": TARGET}, {"source": 1})
            holding.abort_transaction()
            found = find_positions(admin, properties, {"source": TARGET}, {"source": 1})
        assert found.lost == []
        assert found.found[TopicPartition("source", 0)].source.offset == 7
