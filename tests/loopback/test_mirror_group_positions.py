"""The end of a mirror, for `mirror --groups`, is found where brokers have deleted the offsets of its own group."""

from kctl.client.admin import Admin
from kctl.client.cluster import TopicPartition
from kctl.client.events import ignore_events
from kctl.client.producer import Producer
from kctl.pipeline.jobs.mirror_groups import MirroredTopics, mirrored_ends
from kctl.pipeline.jobs.mirror_positions import MirrorPosition, MirrorTarget, create_positions_topic
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
