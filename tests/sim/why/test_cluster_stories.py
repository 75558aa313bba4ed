"""Incidents of topics and brokers on the sandbox, each with its healthy twin."""

from collections.abc import Mapping

from kctl.client.admin import Admin, ConfigResource, ResourceType
from kctl.client.clock import Timer
from kctl.client.cluster import TopicPartition
from kctl.sandbox import Fault
from kctl.sandbox.quotas import Quota
from kctl.why import Scope, Selection, Throttles, diagnose, take_looks
from tests.sim.why.scene import Scene, with_scene

HOUR_MS = 3_600_000
NOTES = {"preferred-leader-away", "leader-skew", "idle-topic"}


def create(scene: Scene, replicas: int = 3, partitions: int = 3, **properties: str) -> None:
    configs = {name.replace("_", "."): value for name, value in properties.items()}
    scene.world.sandbox.cluster.create_topic("r", partitions, replicas, configs)


def follower(scene: Scene, partition: int = 0) -> int:
    found = scene.world.sandbox.cluster.topics["r"].partitions[partition]
    return next(node_id for node_id in found.replicas if node_id != found.leader_id)


def set_config(scene: Scene, values: Mapping[str, str]) -> None:
    scene.admin.alter_configs({ConfigResource(ResourceType.TOPIC, "r"): dict(values)}).raise_first()


def test_healthy_cluster_has_no_finding() -> None:
    def story(scene: Scene) -> None:
        create(scene, min_insync_replicas="2")
        scene.produce(5, "r")
        assert scene.cluster(meanwhile=lambda: scene.produce(5, "r")) == {}
        assert scene.topic("r") == {}

    with_scene(story)


def test_follower_that_falls_out_of_sync_is_under_min_isr() -> None:
    def story(scene: Scene) -> None:
        create(scene, replicas=2, min_insync_replicas="2")
        lost = follower(scene)
        scene.world.sandbox.hold_follower("r", 0, lost)
        found = scene.topic("r")
        assert found["under-min-isr"].sentence == (
            f"r-0 has 1 of 2 replicas in sync and min.insync.replicas=2 (set on the topic); missing: broker {lost}"
        )
        assert scene.cluster().keys() == {"under-min-isr"}
        scene.world.sandbox.release_follower("r", 0, lost)
        assert scene.topic("r") == {}

    with_scene(story)


def test_min_isr_above_the_number_of_replicas() -> None:
    def story(scene: Scene) -> None:
        create(scene, replicas=2, min_insync_replicas="3")
        found = scene.topic("r")
        assert found["impossible-min-isr"].sentence == (
            "r has 2 replicas and min.insync.replicas=3 (set on the topic): acks=all can never succeed"
        )
        assert found["impossible-min-isr"].cure == "kctl configs set topic r min.insync.replicas=1"
        assert found.keys() == {"impossible-min-isr"}
        set_config(scene, {"min.insync.replicas": "1"})
        assert scene.topic("r") == {}

    with_scene(story)


def test_partition_without_a_leader() -> None:
    def story(scene: Scene) -> None:
        create(scene)
        scene.world.sandbox.elect_late("r", 1, 2, ms=60_000)
        found = scene.topic("r")["no-leader"]
        assert found.sentence.startswith("r-1 has no leader: ")

    with_scene(story)


def test_frozen_broker_is_unreachable_and_the_rest_is_read() -> None:
    def story(scene: Scene) -> None:
        create(scene)
        scene.world.sandbox.start_fault(2, Fault.FREEZE)
        looks = scene.looks(Selection(topics=None, has_brokers=True))
        ids = {finding.id: finding for finding in diagnose(looks, (Scope.CLUSTER,)).findings}
        assert ids["broker-unreachable"].sentence.startswith("broker 2 (")
        assert "it leads 3 of the 9 partitions looked at" in ids["broker-unreachable"].sentence
        assert set(looks.now.log_dirs) == {1, 3}
        assert {tp.partition for tp in looks.now.ends if tp.topic == "r"} < {0, 1, 2}

    with_scene(story)


def test_record_from_the_future() -> None:
    def story(scene: Scene) -> None:
        create(scene)
        set_config(scene, {"message.timestamp.after.max.ms": str(1 << 60)})
        with scene.world.producer() as producer:
            producer.send("r", b"x", partition=2, timestamp_ms=scene.world.clock.wall_ms() + 400 * 24 * HOUR_MS)
        found = scene.topic("r")["future-timestamps"]
        assert found.sentence.startswith("r-2 has a record from the future: offset 0 is dated ")
        assert ", 1 year from now" in found.sentence
        assert found.show == "kctl consume r -p 2 -o 0 -n 1"

    with_scene(story)


def test_quota_that_throttles_this_client() -> None:
    def story(scene: Scene) -> None:
        throttles = Throttles()
        with Admin({"bootstrap.servers": scene.world.bootstrap}, scene.world.runtime, events=throttles.take) as admin:
            scene.world.sandbox.limit(Quota.FETCH, 1)
            scene.produce(3)
            for _ in range(2):
                admin.find_records({TopicPartition("t", 0): 0})
            timer = Timer(scene.world.clock, 60_000)
            looks = take_looks(admin, scene.world.runtime, timer, Selection(topics=("t",)), 0, throttles)
        found = {finding.id: finding for finding in diagnose(looks, (Scope.TOPIC,)).findings}
        assert "throttles this client: its responses asked for pauses of " in found["quota-throttled"].sentence

    with_scene(story)


def test_settings_that_lose_records_or_clients() -> None:
    def story(scene: Scene) -> None:
        create(scene)
        assert scene.topic("r") == {}
        set_config(scene, {"unclean.leader.election.enable": "true", "compression.type": "zstd"})
        found = scene.topic("r")
        assert found.keys() == {"unclean-election", "old-message-format"}
        assert found["old-message-format"].cure == "kctl configs unset topic r compression.type"

    with_scene(story)


def test_throttle_that_a_move_left_behind() -> None:
    def story(scene: Scene) -> None:
        create(scene)
        assert scene.topic("r") == {}
        set_config(scene, {"leader.replication.throttled.replicas": "*"})
        assert scene.topic("r")["throttle-left-behind"].subject == "topic r"
        assert scene.cluster().keys() - NOTES == {"throttle-left-behind"}
        resource = ConfigResource(ResourceType.TOPIC, "r")
        scene.admin.alter_configs({resource: {"leader.replication.throttled.replicas": None}}).raise_first()
        assert scene.topic("r") == {}

    with_scene(story)
