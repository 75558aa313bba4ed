"""Incidents of topics and brokers on the sandbox, each with its healthy twin."""

from collections.abc import Mapping

import pytest

from kctl.client.admin import Admin, ConfigResource, ResourceType
from kctl.client.clock import Timer
from kctl.client.cluster import TopicPartition
from kctl.sandbox import Fault
from kctl.sandbox.quotas import Quota
from kctl.why import Scope, Selection, Throttles, diagnose, take_looks
from tests.sim.virtual.runtime import HubClock
from tests.sim.why.story import Story, run_story

HOUR_MS = 3_600_000
NOTES = {"preferred-leader-not-leading", "leader-skew", "idle-topic"}


def create(story: Story, replicas: int = 3, partitions: int = 3, **properties: str) -> None:
    configs = {name.replace("_", "."): value for name, value in properties.items()}
    story.sim.sandbox.cluster.create_topic("r", partitions, replicas, configs)


def follower(story: Story, partition: int = 0) -> int:
    found = story.sim.sandbox.cluster.topics["r"].partitions[partition]
    return next(node_id for node_id in found.replicas if node_id != found.leader_id)


def set_config(story: Story, values: Mapping[str, str]) -> None:
    story.admin.alter_configs({ConfigResource(ResourceType.TOPIC, "r"): dict(values)}).raise_first()


def test_healthy_cluster_has_no_finding() -> None:
    def body(story: Story) -> None:
        create(story, min_insync_replicas="2")
        story.produce(5, "r")
        assert story.cluster(meanwhile=lambda: story.produce(5, "r")) == {}
        assert story.topic("r") == {}

    run_story(body)


def test_follower_that_falls_out_of_sync_is_under_min_isr() -> None:
    def body(story: Story) -> None:
        create(story, replicas=2, min_insync_replicas="2")
        lost = follower(story)
        story.sim.sandbox.hold_follower("r", 0, lost)
        found = story.topic("r")
        assert found["under-min-isr"].sentence == (
            f"r-0 has 1 of 2 replicas in sync, but min.insync.replicas=2 (set on the topic). Out of sync: broker {lost}"
        )
        assert story.cluster().keys() == {"under-min-isr"}
        story.sim.sandbox.release_follower("r", 0, lost)
        assert story.topic("r") == {}

    run_story(body)


def test_min_isr_above_the_number_of_replicas_is_found() -> None:
    def body(story: Story) -> None:
        create(story, replicas=2, min_insync_replicas="3")
        found = story.topic("r")
        assert found["impossible-min-isr"].sentence == (
            "r has 2 replicas but min.insync.replicas=3 (set on the topic), so producers with acks=all always fail"
        )
        assert found["impossible-min-isr"].cure == "kctl configs set topic r min.insync.replicas=1"
        assert found.keys() == {"impossible-min-isr"}
        set_config(story, {"min.insync.replicas": "1"})
        assert story.topic("r") == {}

    run_story(body)


def test_partition_without_a_leader_is_found() -> None:
    def body(story: Story) -> None:
        create(story)
        story.sim.sandbox.elect_late("r", 1, 2, ms=60_000)
        found = story.topic("r")["no-leader"]
        start = "r-1 has no leader. The replicas are on "
        assert found.sentence == f"{start}brokers 1, 2 and 3 (in sync and available, but not elected)"
        assert found.cure.startswith(
            "find the active controller with kctl cluster quorum, and search its log for election"
        )
        for node_id in (1, 3):
            story.sim.sandbox.hold_follower("r", 1, node_id)
        story.sim.sandbox.fence(2)
        found = story.topic("r")["no-leader"]
        assert found.sentence == f"{start}broker 2 (fenced) and brokers 1 and 3 (not in sync)"
        assert found.cure.startswith("start broker 2, or ")

    run_story(body)


def test_partition_whose_last_replica_is_on_an_offline_disk_waits_for_the_disk() -> None:
    def body(story: Story) -> None:
        create(story, replicas=1)
        solo = story.sim.sandbox.cluster.topics["r"].partitions[1].leader_id
        story.sim.sandbox.elect_late("r", 1, solo, ms=60_000)
        story.sim.sandbox.set_disk(solo, None)
        found = story.topic("r")["no-leader"]
        assert found.sentence == f"r-1 has no leader. The replicas are on broker {solo} (offline disk)"
        assert f"kctl brokers log-dirs, repair the disk, and restart broker {solo}" in found.cure

    run_story(body)


@pytest.mark.parametrize("follows", [1, 2, 3])
@pytest.mark.parametrize("is_selected", [True, False])
def test_partition_without_a_leader_at_brokers_that_are_behind_is_no_finding(follows: int, is_selected: bool) -> None:
    def body(story: Story) -> None:
        create(story)
        story.sim.sandbox.elect_late("r", 1, 2, ms=1000)
        for node_id in {1, 2, 3} - {follows}:
            story.sim.sandbox.hold_metadata(node_id)
        driver = story.sim.runtime.driver
        driver.wait(driver.waiter(), story.sim.clock.now_ms() + 2000)
        looks = story.looks(Selection(topics=("r",) if is_selected else None))
        assert diagnose(looks, (Scope.TOPIC,)).findings == ()
        assert looks.now.topics["r"][1].leader_id == 2

    run_story(body)


def test_replicas_in_sync_are_those_that_the_leader_reports() -> None:
    def body(story: Story) -> None:
        create(story, replicas=2, min_insync_replicas="2")
        lost, leader = follower(story), story.sim.leader(0, "r")
        story.sim.sandbox.hold_follower("r", 0, lost)
        for node_id in {1, 2, 3} - {leader}:
            story.sim.sandbox.hold_metadata(node_id)
        story.sim.sandbox.release_follower("r", 0, lost)
        for _ in range(3):
            assert story.topic("r") == {}
            assert story.topic("r", meanwhile=lambda: None).keys() <= {"stale-metadata"}

    run_story(body)


def test_frozen_broker_is_unreachable_and_the_rest_is_read() -> None:
    def body(story: Story) -> None:
        create(story)
        story.sim.sandbox.start_fault(2, Fault.FREEZE)
        looks = story.looks(Selection(topics=None, has_brokers=True))
        ids = {finding.id: finding for finding in diagnose(looks, (Scope.CLUSTER,)).findings}
        assert ids["broker-unreachable"].sentence.startswith("broker 2 (")
        assert "The broker leads 3 of the 9 partitions that kctl checked" in ids["broker-unreachable"].sentence
        assert set(looks.now.log_dirs) == {1, 3}
        assert {tp.partition for tp in looks.now.ends if tp.topic == "r"} < {0, 1, 2}

    run_story(body)


def test_record_from_the_future_is_found() -> None:
    def body(story: Story) -> None:
        create(story)
        set_config(story, {"message.timestamp.after.max.ms": str(1 << 60)})
        with story.sim.producer() as producer:
            producer.send("r", b"x", partition=2, timestamp_ms=story.sim.clock.wall_ms() + 400 * 24 * HOUR_MS)
        found = story.topic("r")["future-timestamps"]
        assert found.sentence.startswith("r-2 has a record with a future timestamp: the record at offset 0 is dated ")
        assert ", 1 year from now" in found.sentence
        assert found.show == "kctl consume r -p 2 -o 0 -n 1"

    run_story(body)


def test_quota_that_throttles_this_client_is_found() -> None:
    def body(story: Story) -> None:
        throttles = Throttles()
        with Admin({"bootstrap.servers": story.sim.bootstrap}, story.sim.runtime, events=throttles.take) as admin:
            story.sim.sandbox.limit(Quota.FETCH, 1)
            story.produce(3)
            for _ in range(2):
                admin.find_records({TopicPartition("t", 0): 0})
            timer = Timer(story.sim.clock, 60_000)
            looks = take_looks(admin, story.sim.runtime, timer, Selection(topics=("t",)), 0, throttles)
        found = {finding.id: finding for finding in diagnose(looks, (Scope.TOPIC,)).findings}
        assert " throttled kctl for " in found["quota-throttled"].sentence

    run_story(body)


def test_settings_that_lose_records_or_clients_are_found() -> None:
    def body(story: Story) -> None:
        create(story)
        assert story.topic("r") == {}
        set_config(story, {"unclean.leader.election.enable": "true", "compression.type": "zstd"})
        found = story.topic("r")
        assert found.keys() == {"unclean-election", "old-message-format"}
        assert found["old-message-format"].cure == "kctl configs unset topic r compression.type"

    run_story(body)


def test_throttle_that_a_move_left_behind_is_found() -> None:
    def body(story: Story) -> None:
        create(story)
        assert story.topic("r") == {}
        set_config(story, {"leader.replication.throttled.replicas": "*"})
        assert story.topic("r")["throttle-left-behind"].subject == "topic r"
        assert story.cluster().keys() - NOTES == {"throttle-left-behind"}
        resource = ConfigResource(ResourceType.TOPIC, "r")
        story.admin.alter_configs({resource: {"leader.replication.throttled.replicas": None}}).raise_first()
        assert story.topic("r") == {}

    run_story(body)


class ClockAhead(HubClock):
    """The clock of the simulation, with the date of a good hour later."""

    def wall_ms(self) -> int:
        return super().wall_ms() + HOUR_MS + 500


def test_clock_of_the_controller_that_is_behind_ours_is_found() -> None:
    def body(story: Story) -> None:
        assert "controller-clock" not in story.cluster()
        ahead = story.sim.runtime._replace(clock=ClockAhead(story.sim.hub))
        with story.admin.within(10):
            everything = Selection(topics=None, has_brokers=True)
            looks = take_looks(story.admin, ahead, Timer(ahead.clock, 10_000), everything, 0)
        found = {each.id: each for each in diagnose(looks, (Scope.CLUSTER,)).findings}["controller-clock"]
        assert found.sentence == "the clock of controller 1 is 1h behind the clock of this machine"

    run_story(body)
