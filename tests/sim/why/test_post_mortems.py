"""Incidents of public post-mortems: the cause is found, the fix fits, and the finding stays until the fault is gone."""

from typing import Any
from unittest.mock import patch

import pytest

from kctl.cli.exit_codes import ExitCode
from kctl.client.admin import ConfigResource, ElectionType, ResourceType
from kctl.client.cluster import TopicPartition
from kctl.client.consumer.consumer import Consumer
from kctl.client.producer import Producer
from kctl.sandbox import ClusterSettings
from kctl.sandbox.log import PartitionLog
from kctl.sandbox.producers import Appended
from kctl.why import Scope, Selection, diagnose
from kctl.why.findings.transactions import LOOP_STARTS
from tests.sim.kit import settle
from tests.sim.why.incident import INTERVAL, LASTING_MS, Live, Steps, incident
from tests.sim.why.story import Story, run_story

DAY_MS, HOUR_MS = 86_400_000, 3_600_000
NEVER_MS = 1 << 40
RATES = "--interval 30s"
MEGABYTE = 1_000_000


def set_topic(story: Live, topic: str, **configs: str) -> None:
    values = {name.replace("_", "."): value for name, value in configs.items()}
    story.admin.alter_configs({ConfigResource(ResourceType.TOPIC, topic): values}).raise_first()


def poll_and_commit(*members: Consumer) -> None:
    for _ in range(5):
        for member in members:
            member.poll(0.2)
            member.commit_sync(timeout=5)


def test_static_member_that_stands_still_has_the_fix_for_a_process_that_is_gone_too() -> None:
    """A pod is killed: its group.instance.id keeps the partition for the rest of session.timeout.ms."""

    def body(story: Story) -> None:
        properties: dict[str, Any] = {"client_id": "app", "enable_auto_commit": False}
        killed = story.enter(story.sim.classic_member("g", group_instance_id="pod-1", **properties))
        other = story.enter(story.sim.classic_member("g", group_instance_id="pod-2", **properties))
        settle(killed, other)

        def arrive(*members: Consumer) -> None:
            for partition in (0, 1):
                story.produce(4, partition=partition)
            poll_and_commit(*members)

        arrive(killed, other)
        arrive()
        found = story.group(meanwhile=lambda: arrive(other))
        stuck = found["group-stuck"]
        assert "restart the client" in stuck.cure
        assert "kctl groups remove-members g --instance pod-1 --execute" in stuck.cure
        again = story.group(meanwhile=lambda: arrive(other))
        assert "group-stuck" in again, "until the member reads"
        assert story.group(meanwhile=lambda: arrive(killed, other)) == {}

    run_story(body, topics={"t": 2})


def test_partition_that_stands_while_others_of_its_member_move_shows_the_record_and_the_reset() -> None:
    """A consumer retries one record for ever, and reads its other partitions."""

    def body(story: Story) -> None:
        member = story.enter(story.sim.classic_member("g", client_id="app", enable_auto_commit=False))
        settle(member)
        stuck, moving = sorted(member.assignment)

        def arrive(*partitions: Any) -> None:
            for tp in (stuck, moving):
                story.produce(4, partition=tp.partition)
            for _ in range(5):
                member.poll(0.2)
                member.commit_sync({tp: member.position(tp) for tp in partitions}, timeout=5)

        arrive(stuck, moving)
        arrive()
        found = story.group(meanwhile=lambda: arrive(moving))["group-stuck"]
        committed = member.committed([stuck])[stuck]
        assert committed is not None
        assert f"kctl consume t -p {stuck.partition} -o {committed.offset} -n 1 --output jsonl" in found.cure
        assert "kctl groups reset-offsets g" in found.cure
        assert story.group(meanwhile=lambda: arrive(stuck, moving)) == {}

    run_story(body, topics={"t": 2})


def test_coordinator_without_a_leader_is_found_for_the_cluster() -> None:
    """The replicas of a partition of __consumer_offsets are down: its groups cannot commit."""

    def body(story: Story) -> None:
        story.sim.commit("g", {("t", 0): 0})
        topic = story.sim.sandbox.cluster.topics["__consumer_offsets"]
        story.sim.sandbox.elect_late(topic.name, 7, 2, ms=600_000)
        found = story.cluster()["coordinator-offline"]
        assert found.sentence.startswith("__consumer_offsets-7 has no leader. ")
        assert "Groups" in found.leads_to

    run_story(body, topics={"t": 1})


def test_leaders_that_stay_on_one_broker_after_a_rolling_restart_are_found() -> None:
    """Each restart moves leaders away; without an election the last broker that was restarted leads nothing."""

    def body(story: Story) -> None:
        sandbox = story.sim.sandbox
        sandbox.cluster.create_topic("r", 12, 3, {})
        for partition in range(12):
            sandbox.move_leader("r", partition, 1)
        looks = story.looks(Selection(topics=None, has_brokers=True))
        found = {each.id: each for each in diagnose(looks, (Scope.CLUSTER,)).findings}
        assert found["preferred-leader-not-leading"].cure == "kctl partitions elect --all"
        partitions = [TopicPartition("r", partition) for partition in range(12)]
        story.admin.elect_leaders(ElectionType.PREFERRED, partitions).raise_first()
        looks = story.looks(Selection(topics=None, has_brokers=True))
        assert diagnose(looks, (Scope.CLUSTER,)).findings == ()

    run_story(body)


# --- twelve more, as an operator meets them ---------------------------------------------------------------------------


@incident("why group g", "lost-data", "g missed 40 records of t-0", fix="kctl groups reset-offsets g --topic t:0")
def test_records_that_retention_deletes_while_a_sink_is_paused_are_counted(story: Live) -> Steps:
    """The warehouse is down for longer than retention.ms; the consumer goes on at the other end without a word."""
    story.produce(60)
    story.sim.commit("g", {("t", 0): 60, ("t", 1): 0})
    yield
    story.sim.commit("g", {("t", 0): 10})
    story.sandbox.delete_records("t", 0, 50)
    yield
    story.fix("kctl groups reset-offsets")
    story.sim.commit("g", {("t", 0): 60})


@incident(
    "why group g", "will-lose-data", "and retention.ms is 1d", fix="kctl configs set topic t retention.ms=172800000"
)
def test_records_that_retention_is_about_to_delete_are_kept_by_the_fix(story: Live) -> Steps:
    """A group that was stopped over the weekend."""
    set_topic(story, "t", retention_ms=str(DAY_MS))
    story.produce(5)
    story.sim.commit("g", {("t", 0): 5, ("t", 1): 0})
    yield
    story.sim.commit("g", {("t", 0): 2})
    story.wait(23 * HOUR_MS)
    yield
    story.fix("kctl configs set")
    story.sim.commit("g", {("t", 0): 5})


@incident(
    f"why group g {INTERVAL}", "offset-moved-backward", "moved back from 30 to 0", fix="kctl groups reset-offsets g"
)
def test_group_that_starts_over_because_its_offsets_had_expired_is_found(story: Live) -> Steps:
    """Brokers had deleted the offsets of a quiet group, and auto.offset.reset=earliest reads all of the topic again."""
    story.produce(30)
    story.sim.commit("g", {("t", 0): 30, ("t", 1): 0})

    def replay() -> None:
        for offset in (0, 30):
            story.sim.commit("g", {("t", 0): offset})
            story.pause(runtime, 20_000)

    runtime = story.own_runtime("replay")
    yield
    story.during = replay
    yield
    story.during = None
    story.wait(LASTING_MS)


@incident(
    "why cluster",
    "compaction-stalled",
    "c-0 is not being compacted (cleanup.policy=compact)",
    fix="log cleaner errors",
    settings=ClusterSettings(log_cleaner_backoff_ms=NEVER_MS),
)
def test_log_cleaner_that_has_stopped_is_found(story: Live) -> Steps:
    """The thread of the log cleaner had died weeks before; a new coordinator took hours to load the log."""
    story.create("c", 1, cleanup_policy="compact", segment_bytes="20000")
    yield
    with story.sim.producer({"linger.ms": "5"}) as producer:
        for number in range(600):
            producer.send("c", b"x" * 200, key=b"k%d" % (number % 10), partition=0)
            if number % 50 == 0:
                producer.flush(timeout=5)
    story.wait(3 * HOUR_MS)
    yield
    story.admin.delete_topics(["c"]).raise_first()


@incident("why cluster", "disk-filling", "The largest topic is r", fix="kctl configs set topic r retention.bytes=")
def test_topic_without_retention_that_fills_the_disk_is_found(story: Live) -> Steps:
    """A topic that nobody had bounded; the brokers refused all topics when the disk was full."""
    story.create(partitions=1, retention_ms="-1", segment_bytes="100000")
    story.sandbox.set_disk(2, MEGABYTE)
    yield
    story.produce(95, "r", size=10_000)
    yield
    story.fix("kctl configs set")
    story.wait(600_000)


@incident(f"why topic r {INTERVAL}", "records-lost", "acknowledged records", fix="unclean.leader.election.enable=false")
def test_records_that_an_unclean_election_loses_are_counted(story: Live) -> Steps:
    """The leader crashed while its followers were behind; the alarm for lag stayed at zero."""
    story.create(partitions=1)
    partition = story.sandbox.cluster.topics["r"].partitions[0]
    for _ in range(5):
        story.sim.write(0, 4, topic="r")

    def crash() -> None:
        other = next(each for each in partition.replicas if each != partition.leader_id)
        story.sandbox.move_leader("r", 0, other, end_offset=story.sandbox.end_offset("r", 0) - 4)

    yield
    story.during = crash
    yield
    story.during = None


@incident(
    "why topic t",
    "transaction-hanging",
    "a hanging transaction",
    fix="kctl transactions abort t:0 --start-offset 0 --execute",
)
def test_transaction_whose_marker_is_lost_is_aborted_by_the_fix(story: Live) -> Steps:
    """Consumers of committed records stalled for hours, though the log grew and no error was logged."""
    yield
    story.sandbox.lose_markers("copier")
    with story.sim.producer({"transactional.id": "copier"}) as producer:
        producer.init_transactions()
        producer.begin_transaction()
        producer.send("t", b"x", partition=0)
        producer.commit_transaction(timeout=10)
    story.produce(4)
    story.wait(5_000)
    yield
    story.fix("kctl transactions abort")


@incident(
    "why cluster",
    "throttle-left-behind",
    "broker 1 still has follower.replication.throttled.rate=1000, leader.replication.throttled.rate=1000",
    fix="kctl configs unset broker 1 ",
)
def test_throttle_that_a_move_has_left_is_removed_by_the_fix(story: Live) -> Steps:
    """A follower that had fallen behind never caught up, weeks after a reassignment."""
    yield
    rate = {"leader.replication.throttled.rate": "1000", "follower.replication.throttled.rate": "1000"}
    story.admin.alter_configs({ConfigResource(ResourceType.BROKER, "1"): rate}).raise_first()
    yield
    story.fix("kctl configs unset")


@incident("why cluster", "broker-missing", "broker 2 is not registered", fix="kctl partitions plan --exclude-brokers 2")
def test_broker_that_comes_back_under_another_id_leaves_replicas_behind(story: Live) -> Steps:
    """A host joined the cluster a second time under a new id; the replicas of the old id had no broker."""
    story.create(replicas=2)
    yield
    for topic in story.sandbox.cluster.topics.values():
        for number, partition in topic.partitions.items():
            if partition.leader_id == 2 and topic.name == "r":
                other = next(each for each in partition.replicas if each != 2)
                story.sandbox.move_leader("r", number, other)
    story.sandbox.register(2, is_registered=False)
    yield
    story.sandbox.register(2)


@incident(f"why group g {INTERVAL}", "rebalance-storm", "Members with new IDs: slow (", fix="max.poll.records")
def test_member_that_exceeds_max_poll_interval_again_and_again_is_found(story: Live) -> Steps:
    """A release called another service for each record: batches took longer than max.poll.interval.ms."""
    calm = story.enter(story.sim.classic_member("g", client_id="calm"))
    story.meanwhile(lambda: calm.poll(0.2))
    story.wait(30_000)

    def exceed_it() -> None:
        with story.sim.classic_member("g", client_id="slow") as member:
            for _ in range(6):
                member.poll(0.3)

    is_slow: list[bool] = []
    idle = story.own_runtime("idle")
    yield
    is_slow.append(True)
    story.meanwhile(lambda: exceed_it() if is_slow else story.pause(idle, 500))
    story.wait(10_000)
    yield
    is_slow.clear()
    story.wait(60_000)


@incident(f"why cluster {INTERVAL}", "producer-fenced", "copier", fix="a different transactional.id for each process")
def test_two_processes_with_one_transactional_id_are_found(story: Live) -> Steps:
    """A deployment started a second copy of a job with the same transactional.id; each aborted the other."""
    runtime = story.own_runtime("copies")

    def run_once() -> None:
        """Stay for a while between the start and the first transaction."""
        properties = {"bootstrap.servers": story.sim.bootstrap, "transactional.id": "copier"}
        with Producer(properties, runtime) as producer:
            producer.init_transactions()
            story.pause(runtime, 1_500)
            producer.begin_transaction()
            producer.send("t", b"x", partition=0)
            producer.commit_transaction(timeout=10)

    def fence_each_other() -> None:
        for _ in range(LOOP_STARTS + 1):
            run_once()

    run_once()
    yield
    story.during = fence_each_other
    yield
    story.during = None


@incident("why cluster", "future-timestamps", "is dated", fix="message.timestamp.after.max.ms=3600000")
def test_record_from_the_future_that_stops_retention_is_found(story: Live) -> Steps:
    """A client wrote microseconds as milliseconds; the segment was kept for thousands of years."""
    set_topic(story, "t", message_timestamp_after_max_ms=str(NEVER_MS * NEVER_MS >> 20))
    yield
    with story.sim.producer() as producer:
        producer.send("t", b"x", partition=1, timestamp_ms=1000 * story.sim.clock.wall_ms())
    yield
    story.fix("kctl configs set")


@incident("consume t -e", "AdvertisedAddressError", "broker 2 advertises", fix="", code=ExitCode.ADVERTISED_ADDRESS)
def test_address_behind_a_port_forward_is_named_by_consume(story: Live) -> Steps:
    """One broker of a cluster in containers advertised the name of its container."""
    yield
    story.sandbox.advertise(2, "broker-2.invalid", 9092)
    yield
    story.sandbox.advertise(2, "10.0.0.2", 9092)


@pytest.mark.slow
@incident(
    f"why group g {RATES}",
    "falling-behind",
    "t-0 received ",
    fix="distribute the keys of t evenly, or process records faster. Only one consumer of the group can read t-0",
    topics={"t": 4},
)
def test_partition_that_gets_most_of_the_records_is_named(story: Live) -> Steps:
    """One customer became large, and his key led to one partition; the team doubled its consumers in vain."""
    is_hot = [False]
    reached = dict.fromkeys(range(4), 0)
    members = [story.enter(story.sim.classic_member("g", enable_auto_commit=False)) for _ in range(2)]
    settle(*members)

    def read(member: Consumer) -> None:
        member.poll(0.5)
        for tp in member.assignment:
            at = member.position(tp) or 0
            slow = tp.partition == 0 and is_hot[-1]
            reached[tp.partition] = min(at, reached[tp.partition] + 1) if slow else at
        member.commit_sync({tp: reached[tp.partition] for tp in member.assignment}, timeout=5)

    def grow() -> None:
        if is_hot[-1]:
            for _ in range(50):
                producer.send("t", b"x" * 10, partition=0)
        story.pause(runtime, 1_000)

    runtime = story.own_runtime("the customer")
    producer = story.sim.enter(Producer({"bootstrap.servers": story.sim.bootstrap}, runtime))
    story.meanwhile(grow)
    for member in members:
        story.meanwhile(lambda member=member: read(member))  # type: ignore[misc]
    story.arrive()
    story.wait(20_000)
    yield
    is_hot.append(True)
    story.wait(60_000)
    yield
    is_hot.append(False)
    story.wait(20_000)


@incident("why cluster", "future-timestamps", "is dated", fix="synchronize the clocks of brokers 1, 2 and 3 (NTP)")
def test_clock_of_a_broker_that_jumps_ahead_is_found_in_the_dates_of_its_records(story: Live) -> Steps:
    """A host without NTP was a year ahead, and dated the records of topics with LogAppendTime."""
    story.create(partitions=1, message_timestamp_type="LogAppendTime")
    append = PartitionLog.append

    def append_late(log: PartitionLog, records: bytes | None, epoch: int, wall_ms: int) -> Appended:
        return append(log, records, epoch, wall_ms + 365 * DAY_MS)

    yield
    with patch.object(PartitionLog, "append", append_late):
        story.produce(1, "r")
    yield
    story.fix("kctl topics trim")


@incident(
    "why group g", "log-truncated", "but the log ends at offset 3", fix="kctl groups reset-offsets g --topic t:0 "
)
def test_group_of_a_topic_that_was_deleted_and_created_again_is_reset_by_the_fix(story: Live) -> Steps:
    """A topic was recreated with more partitions; its consumers waited for the offsets of the first one."""
    story.produce(20)
    story.sim.commit("g", {("t", 0): 20, ("t", 1): 0})
    yield
    story.admin.delete_topics(["t"]).raise_first()
    story.wait(5_000)
    story.create("t", 2)
    story.produce(3)
    story.sim.commit("g", {("t", 0): 20, ("t", 1): 0})
    yield
    story.fix("kctl groups reset-offsets")


@incident(
    "why cluster", "log-dir-offline", "log directory /sandbox of broker 3 is offline", fix="repair the disk of /sandbox"
)
def test_directory_that_a_full_disk_has_taken_offline_is_found(story: Live) -> Steps:
    """The disk of one broker was full; its replicas were offline, and the cluster had one copy fewer."""
    story.create()
    yield
    story.sandbox.set_disk(3, None)
    yield
    story.sandbox.heal(3)
