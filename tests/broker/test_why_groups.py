"""`kctl why` on real Kafka: members that come, go, fence and forget; each found after its healthy twin was not."""

import re
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack

import pytest

from kctl.client.admin import LATEST, ConfigResource, QuotaEntity, ResourceType
from kctl.client.clock import SystemClock
from kctl.client.cluster import TopicPartition
from kctl.client.consumer.consumer import Consumer, ConsumerRecord
from kctl.client.producer import Producer
from kctl.why import FINDINGS
from kctl.why.findings.group_members import LOOP_IDS, STORM_EPOCHS
from kctl.why.findings.transactions import LOOP_STARTS
from tests.broker.why_story import NOTICED_MS, KafkaStory, polled
from tests.cli.processes import kctl
from tests.support.kafka.cluster import KafkaCluster
from tests.support.kafka.waiting import wait_until

HOUR_MS = 3_600_000
BACKLOG, ARRIVING = 20_000, 3


@pytest.fixture(scope="module")
def story(kafka_newest: KafkaCluster) -> Iterator[KafkaStory]:
    with KafkaStory(kafka_newest) as made:
        yield made


@pytest.mark.nightly
@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_member_that_restarts_all_the_time_is_a_storm(story: KafkaStory, protocol: str) -> None:
    topic = story.kafka.create_topic(partitions=4)
    group = f"{topic}-group"
    # of KIP-848 the broker sets the interval
    quick = {} if protocol == "consumer" else {"heartbeat_interval_ms": 200}
    with polled(story.member(group, topic, group_protocol=protocol, **quick)), ExitStack() as flapping:

        def restart() -> None:
            flapping.close()
            flapping.enter_context(polled(story.member(group, topic, client_id="flapping", group_protocol=protocol)))

        restart()
        assert story.group(group, restart, glimpses=1).keys() & {"rebalance-storm"} == set()
        storm = story.group(group, restart, glimpses=STORM_EPOCHS)["rebalance-storm"]
    change = "epoch rose by" if protocol == "consumer" else "rebalanced at least"
    assert storm.sentence.startswith(f"{group} keeps rebalancing: the group {change} ")


@pytest.mark.parametrize("protocol", [pytest.param("classic", marks=pytest.mark.nightly), "consumer"])
def test_static_member_that_is_gone_is_removed_by_its_cure(story: KafkaStory, protocol: str) -> None:
    topic = story.kafka.create_topic(partitions=2)
    group = f"{topic}-group"
    if protocol == "consumer":
        patient = {ConfigResource(ResourceType.GROUP, group): {"consumer.session.timeout.ms": "60000"}}
        story.admin.alter_configs(patient).raise_first()
    quick = {} if protocol == "consumer" else {"heartbeat_interval_ms": 200}
    commits = {"enable_auto_commit": True, "auto_commit_interval_ms": 100}
    one, two = (
        story.member(group, topic, group_instance_id=name, group_protocol=protocol, **commits, **quick)
        for name in ("pod-1", "pod-2")
    )

    def arrive() -> None:
        """Append to both partitions, and wait until a member has committed one of them."""
        for partition in (0, 1):
            story.produce(topic, 2, partition)
        wait_until(lambda: 0 in lags(), NOTICED_MS, "a commit")

    def lags() -> list[int]:
        known = [TopicPartition(topic, partition) for partition in (0, 1)]
        ends = story.admin.list_offsets(dict.fromkeys(known, LATEST)).done
        committed = story.admin.list_group_offsets(group).done
        return [ends[tp].offset - offset.offset for tp in known if (offset := committed.get(tp)) is not None]

    ids = {"static-member-gone", "group-stuck", "rebalance-storm"}
    with polled(two):
        with polled(one):
            arrive()
            wait_until(lambda: lags() == [0, 0], NOTICED_MS, "commits of both")
            assert story.group(group, arrive).keys() & ids == set()
        arrive()  # pod-1 has closed, and is a static member that stays in the group
        found = story.group(group, arrive)
        remove = f"kctl groups remove-members {group} --instance pod-1 --execute"
        if protocol == "classic":  # the coordinator does not know that the process is gone
            assert found.keys() & ids == {"group-stuck"}
            assert found["group-stuck"].cure.endswith(f". If the process of this member is gone, run: {remove}")
        else:
            assert found.keys() & ids == {"static-member-gone"}
            closed = "left the group, but still owns the partition until its session times out"
            assert f"Static member pod-1 (127.0.0.1) {closed}" in found["static-member-gone"].sentence
            assert found["static-member-gone"].cure == remove
        story.cure(remove)
        wait_until(lambda: lags() == [0, 0], NOTICED_MS, "pod-2 to read both")
        assert story.group(group, arrive).keys() & ids == set()


@pytest.mark.nightly
def test_processes_that_fence_each_others_instance_id_are_found_and_a_restart_is_not(story: KafkaStory) -> None:
    topic = story.kafka.create_topic(partitions=2)
    group = f"{topic}-group"

    def start() -> None:
        with polled(story.member(group, topic, group_instance_id="pod-1")):
            pass  # a static member stays when it closes

    start()
    assert story.group(group, start).keys() & {"duplicate-instance-id"} == set()
    found = story.group(group, start, glimpses=LOOP_IDS)["duplicate-instance-id"]
    assert re.search(
        rf"group.instance.id pod-1 of {group} had {LOOP_IDS + 1} member IDs within [\d.ms]+. Processes with this ID "
        r"\(app on 127.0.0.1\) fence each other, or one process keeps restarting",
        found.sentence,
    )


def test_group_whose_offsets_are_reset_went_back_and_its_cure_takes_it_ahead(story: KafkaStory) -> None:
    topic = story.kafka.create_topic()
    group = f"{topic}-group"
    story.produce(topic, 9)
    with polled(story.member(group, topic, enable_auto_commit=True, auto_commit_interval_ms=100)):
        wait_until(lambda: _committed(story, group, topic) == 9, NOTICED_MS, "the commits of the member")
        assert "offset-moved-backward" not in story.group(group, lambda: None)
    reset = f"kctl groups reset-offsets {group} --topic {topic}:0 --to-earliest --execute"
    found = story.group(group, lambda: story.cure(reset))["offset-moved-backward"]
    assert re.fullmatch(
        rf"the committed offset of {group} for {topic}-0 moved back from 9 to 0 within [\d.ms]+. The group rereads "
        "9 records. "
        "The log starts at offset 0",
        found.sentence,
    )
    story.cure(found.cure)
    assert _committed(story, group, topic) == 9
    assert "offset-moved-backward" not in story.group(group, lambda: None)


def _committed(story: KafkaStory, group: str, topic: str) -> int | None:
    offset = story.admin.list_group_offsets(group).done.get(TopicPartition(topic, 0))
    return None if offset is None else offset.offset


@pytest.mark.nightly
def test_members_that_commit_nothing_are_found_until_they_do(story: KafkaStory) -> None:
    topic = story.kafka.create_topic(partitions=2)
    group = f"{topic}-group"
    story.produce(topic, 3)
    with polled(story.member(group, topic)):
        found = story.group(group, lambda: story.produce(topic, 4))["no-committed-offsets"]
        assert f"app (127.0.0.1) of {group} owns {topic}-0 but has not committed an offset, although 4 records" in (
            found.sentence
        )
    with polled(story.member(group, topic, enable_auto_commit=True, auto_commit_interval_ms=100)):
        story.until(lambda: story.group(group, lambda: story.produce(topic, 4)), "no-committed-offsets", is_gone=True)
    assert story.group(group).keys() & {"uncommitted-partition"} == set()
    story.admin.delete_groups([group]).raise_first()
    story.commit(group, topic, 3)
    story.produce(topic, 5, partition=1)
    missed = story.group(group)["uncommitted-partition"]
    assert missed.sentence == f"{group} has committed offsets for {topic}, but not for {topic}-1, which has 5 records"
    story.cure(missed.cure)
    assert story.group(group).keys() & {"uncommitted-partition"} == set()


@pytest.mark.nightly
def test_member_that_gets_no_partition_and_topic_that_is_deleted(story: KafkaStory) -> None:
    topic = story.kafka.create_topic(partitions=2)
    group, ids = f"{topic}-group", {"members-idle", "topic-missing"}
    with polled(story.member(group, topic), story.member(group, topic)):
        assert story.group(group).keys() & ids == set()
        with polled(story.member(group, topic), gets_share=False):
            idle = story.until(lambda: story.group(group), "members-idle")
            assert idle is not None
            assert (
                idle.sentence
                == f"1 of 3 members of {group} have no partitions, because the topics have only 2 partitions"
            )
    with polled(story.member(group, topic)):
        story.admin.delete_topics([topic]).raise_first()
        missing = story.until(lambda: story.group(group), "topic-missing")
        assert missing is not None
        assert (
            missing.sentence
            == f"{group} reads topic {topic}, but the topic does not exist or kctl has no Describe permission on it"
        )
        story.cure(missing.cure)
        story.until(lambda: story.group(group), "topic-missing", is_gone=True)


@pytest.mark.nightly
def test_quota_near_zero_of_a_members_client_id(story: KafkaStory) -> None:
    topic = story.kafka.create_topic()
    group, entity = f"{topic}-group", QuotaEntity.of({"client-id": topic})
    story.commit(group, topic, 0)
    with polled(story.member(group, topic, client_id=topic)):
        story.produce(topic, 4)
        assert "group-throttled" not in story.group(group)
        story.admin.alter_client_quotas({entity: {"consumer_byte_rate": 100}}).raise_first()
        found = story.until(lambda: story.group(group), "group-throttled")
        assert found is not None
        assert found.sentence == (
            f"a quota limits {topic} (127.0.0.1) of {group} to 100 bytes/s (consumer_byte_rate, set for client-id "
            f"{topic}). 4 records of 1 partition are unread"
        )
        story.cure(found.cure.removeprefix("raise the quota, or remove the quota with: "))
        story.until(lambda: story.group(group), "group-throttled", is_gone=True)


@pytest.mark.nightly
def test_group_that_reads_more_slowly_than_records_arrive(story: KafkaStory) -> None:
    topic = story.kafka.create_topic()
    group, tp, permits = f"{topic}-group", TopicPartition(topic, 0), threading.Semaphore(ARRIVING)

    def committed() -> int:
        offset = story.admin.list_group_offsets(group).done.get(tp)
        return 0 if offset is None else offset.offset

    def take(member: Consumer, records: Sequence[ConsumerRecord]) -> None:
        """Commit as many records as are permitted."""
        if records:
            first, count = records[0].offset, 0
            while count < len(records) and permits.acquire(blocking=False):
                count += 1
            member.seek(tp, first + count)
            if count:
                member.commit_sync({tp: first + count}, timeout=10)

    def more(read: int) -> None:
        before = committed()
        story.produce(topic, ARRIVING)
        for _ in range(read):
            permits.release()
        wait_until(lambda: committed() - before >= read, NOTICED_MS, "commits")

    with polled(story.member(group, topic), take=take):
        story.produce(topic, ARRIVING)
        wait_until(lambda: committed() == ARRIVING, NOTICED_MS, "commits")
        assert story.group(group, lambda: more(ARRIVING)).keys() & {"falling-behind", "group-stuck"} == set()
        story.produce(topic, BACKLOG)
        clock = SystemClock()
        second_at_ms = clock.now_ms() + FINDINGS["falling-behind"].apart_ms

        def more_and_later() -> None:
            more(1)
            wait_until(lambda: clock.now_ms() >= second_at_ms, NOTICED_MS, "the time between two looks")

        found = story.group(group, more_and_later)["falling-behind"]
    assert re.fullmatch(
        rf"{group} is falling behind on {topic}: {ARRIVING} records arrived in [\d.ms]+, but the group "
        r"read only 1. 20,002 records are unread",
        found.sentence,
    )


def test_record_near_its_retention_and_record_of_the_future(story: KafkaStory) -> None:
    configs = {"retention.ms": str(HOUR_MS), "message.timestamp.after.max.ms": str(1 << 60)}
    topic = story.kafka.create_topic(partitions=2, configs=configs)
    group, now_ms = f"{topic}-group", SystemClock().wall_ms()
    story.commit(group, topic, 0)
    story.produce(topic, 1)
    assert story.group(group).keys() == {"group-no-members"}
    story.commit(group, topic, 1, partition=1)
    story.produce(topic, 2, partition=1, timestamp_ms=now_ms - HOUR_MS * 95 // 100)
    soon = story.group(group)["will-lose-data"]
    assert f"{group} is about to lose records of {topic}-1: its next record (offset 1) is 57m" in soon.sentence
    assert "future-timestamps" not in story.topic(topic)
    story.produce(topic, 1, timestamp_ms=now_ms + 400 * 24 * HOUR_MS)
    ahead = story.topic(topic)["future-timestamps"]
    assert f"{topic}-0 has a record with a future timestamp: the record at offset 1 is dated " in ahead.sentence
    assert ", 1 year from now" in ahead.sentence
    story.admin.delete_topics([topic]).raise_first()


def test_min_isr_above_the_number_of_replicas(story: KafkaStory) -> None:
    topic = story.kafka.create_topic(replication=1)
    assert story.topic(topic) == {}
    resource = ConfigResource(ResourceType.TOPIC, topic)
    story.admin.alter_configs({resource: {"min.insync.replicas": "2"}}).raise_first()
    found = story.until(lambda: story.topic(topic), "impossible-min-isr")
    assert found is not None
    assert found.sentence == (
        f"{topic} has 1 replica but min.insync.replicas=2 (set on the topic), so producers with acks=all always fail"
    )
    story.cure(found.cure)
    story.until(lambda: story.topic(topic), "impossible-min-isr", is_gone=True)


def test_producers_that_fence_each_other(story: KafkaStory) -> None:
    topic = story.kafka.create_topic()

    config = {"bootstrap.servers": story.kafka.bootstrap(), "transactional.id": f"{topic}-id"}

    def work() -> None:
        with Producer(config) as producer:
            producer.init_transactions(timeout=30)
            for _ in range(3):
                producer.begin_transaction()
                producer.send(topic, b"x").result(30)
                producer.commit_transaction(timeout=30)

    with ExitStack() as working:

        def start() -> None:
            """Start a producer, which fences the one before."""
            producer = working.enter_context(Producer(config))
            producer.init_transactions(timeout=30)

        work()
        assert "producer-fenced" not in story.cluster(work, glimpses=1)
        found = story.cluster(start, glimpses=LOOP_STARTS)["producer-fenced"]
    assert f"{topic}-id: producers were initialized at least {LOOP_STARTS} times within " in found.sentence


def test_quota_of_this_client_is_found_until_it_is_removed(story: KafkaStory) -> None:
    client_id = "throttled-doctor"
    quotas = ("quotas", "set", "request_percentage=0.01", "--client-id", client_id, "-b", story.kafka.bootstrap())
    topic = story.kafka.create_topic()
    throttled = KafkaStory(story.kafka, client_id=client_id)
    try:
        assert throttled.topic(topic) == {}
        assert kctl(*quotas).code == 0
        found = throttled.until(lambda: throttled.topic(topic), "quota-throttled")
        assert found is not None
        assert " throttled kctl for " in found.sentence
    finally:
        removed = ("quotas", "unset", "request_percentage", "--client-id", client_id, "-b", story.kafka.bootstrap())
        assert kctl(*removed).code == 0
        throttled.admin.close()
