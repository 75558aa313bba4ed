"""Background problems are reported as typed events and through logging."""

import logging
from collections.abc import Iterator

import pytest

from kctl.client.broker_errors import ErrorCode
from kctl.client.cluster import TopicPartition
from kctl.client.consumer.consumer import Consumer
from kctl.client.errors import BrokerError, CloseTimeout, KafkaError
from kctl.client.events import (
    AutoCommitFailed,
    CoordinatorFound,
    CoordinatorLost,
    Event,
    GroupChanged,
    GroupStep,
    MembershipLost,
)
from kctl.sandbox import Fault
from tests.sim.kit.groups import GROUP, GroupCluster
from tests.sim.virtual import Hub, sim_runtime


@pytest.fixture
def cluster() -> Iterator[GroupCluster]:
    with Hub(seed=53) as hub:
        yield GroupCluster(hub, topics={"t": 2})


def watched(cluster: GroupCluster, events: list[Event], **properties: object) -> Consumer:
    given = {
        "bootstrap_servers": cluster.bootstrap,
        "group_id": GROUP,
        "auto_offset_reset": "earliest",
        "max_poll_interval_ms": 20_000,
        "default_api_timeout_ms": 3000,
        "request_timeout_ms": 2000,
        **properties,
    }
    config = {name.replace("_", "."): value for name, value in given.items()}
    return Consumer(config, sim_runtime(cluster.hub, "watched", cluster.network), events=events.append)


def reported(events: list[Event]) -> list[AutoCommitFailed | MembershipLost]:
    return [event for event in events if isinstance(event, AutoCommitFailed | MembershipLost)]


def test_an_automatic_commit_that_failed(cluster: GroupCluster, caplog: pytest.LogCaptureFixture) -> None:
    events: list[Event] = []

    def body() -> None:
        cluster.write(0, 4)
        consumer = watched(cluster, events, auto_commit_interval_ms=1000)
        consumer.assign([TopicPartition("t", 0)])
        assert len(consumer.poll(5)) == 4
        cluster.sandbox.start_fault(cluster.coordinator(), Fault.FREEZE)
        for _ in range(8):
            consumer.poll(1)
        [first, *_] = reported(events)
        assert isinstance(first, AutoCommitFailed)
        assert (first.group_id, first.offsets) == (GROUP, (("t", 0, 4),))
        assert first.error.retriable
        assert first.at_ms <= cluster.hub.now_ms
        cluster.sandbox.heal()
        consumer.close()
        cluster.hub.sleep_ms(20)

    with caplog.at_level(logging.WARNING, "kctl.client.consumer"):
        cluster.play(body)
    messages = [record.getMessage() for record in caplog.records if record.name == "kctl.client.consumer"]
    assert messages[0].startswith("group g: automatic commit of t-0 at 4 failed: ")


def test_a_commit_that_close_gave_up(cluster: GroupCluster) -> None:
    events: list[Event] = []

    def body() -> None:
        cluster.write(0, 4)
        consumer = watched(cluster, events)
        consumer.assign([TopicPartition("t", 0)])
        assert len(consumer.poll(5)) == 4
        cluster.sandbox.start_fault(cluster.coordinator(), Fault.FREEZE)
        assert consumer.close(0.5).committed is False
        [failed] = reported(events)
        assert isinstance(failed, AutoCommitFailed)
        assert isinstance(failed.error, CloseTimeout)
        cluster.sandbox.heal()
        cluster.hub.sleep_ms(20)

    cluster.play(body)


def test_a_commit_by_hand_is_reported_to_its_caller_alone(cluster: GroupCluster) -> None:
    events: list[Event] = []
    heard: list[KafkaError | None] = []

    def body() -> None:
        consumer = watched(cluster, events, enable_auto_commit=False)
        consumer.assign([TopicPartition("t", 0)])
        cluster.sandbox.start_fault(cluster.coordinator(), Fault.FREEZE)
        consumer.commit_async({TopicPartition("t", 0): 1}, lambda _, error: heard.append(error))
        consumer.poll(9)
        assert heard
        assert reported(events) == []
        cluster.sandbox.heal()
        consumer.close()
        cluster.hub.sleep_ms(20)

    cluster.play(body)


@pytest.mark.parametrize("has_callback", [False, True])
def test_failed_commit_by_hand_without_callback_is_logged(
    cluster: GroupCluster, has_callback: bool, caplog: pytest.LogCaptureFixture
) -> None:
    def body() -> None:
        consumer = watched(cluster, [], enable_auto_commit=False)
        consumer.assign([TopicPartition("t", 0)])
        cluster.sandbox.fail_requests("OffsetCommit", ErrorCode.GROUP_AUTHORIZATION_FAILED, times=1)
        consumer.commit_async({TopicPartition("t", 0): 1}, (lambda *_: None) if has_callback else None)
        consumer.poll(1)
        consumer.close()
        cluster.hub.sleep_ms(20)

    with caplog.at_level(logging.WARNING, "kctl.client.consumer"):
        cluster.play(body)
    assert [message.split("): ")[0] for message in caplog.messages] == (
        [] if has_callback else ["cannot commit offsets of group g (t-0 at 1"]
    )


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_a_membership_that_the_application_lost_by_not_polling(
    cluster: GroupCluster, protocol: str, caplog: pytest.LogCaptureFixture
) -> None:
    events: list[Event] = []

    def body() -> None:
        consumer = watched(cluster, events, group_protocol=protocol, enable_auto_commit=False)
        consumer.subscribe(["t"])
        while not consumer.assignment:
            consumer.poll(1)
        member_id = consumer.group_metadata().member_id
        cluster.hub.sleep_ms(25_000)
        [lost] = reported(events)
        assert isinstance(lost, MembershipLost)
        assert (lost.group_id, lost.member_id) == (GROUP, member_id)
        assert lost.partitions == (("t", 0), ("t", 1))
        assert (lost.reason, lost.error) == ("no poll for 20000 ms (max.poll.interval.ms)", None)
        consumer.close()
        assert reported(events) == [lost], "to leave is no loss"
        cluster.hub.sleep_ms(20)

    with caplog.at_level(logging.WARNING, "kctl.client.consumer"):
        cluster.play(body)
    assert caplog.messages[0].endswith("has lost t-0, t-1: no poll for 20000 ms (max.poll.interval.ms)")


def test_a_static_member_that_another_process_replaced(cluster: GroupCluster) -> None:
    events: list[Event] = []

    def body() -> None:
        elder = watched(cluster, events, group_instance_id="one", enable_auto_commit=False)
        elder.subscribe(["t"])
        while not elder.assignment:
            elder.poll(1)
        younger = watched(cluster, [], group_instance_id="one", enable_auto_commit=False)
        younger.subscribe(["t"])
        younger.poll(6)
        [lost] = reported(events)
        assert isinstance(lost, MembershipLost)
        assert isinstance(lost.error, BrokerError)
        assert lost.error.code == ErrorCode.FENCED_INSTANCE_ID
        elder.close(1)
        younger.close(1)
        cluster.hub.sleep_ms(20)

    cluster.play(body)


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_life_of_a_member(cluster: GroupCluster, protocol: str) -> None:
    events: list[Event] = []

    def body() -> None:
        consumer = watched(cluster, events, group_protocol=protocol)
        consumer.subscribe(["t"])
        while not consumer.assignment:
            consumer.poll(1)
        member = consumer.group_metadata()
        owned = tuple(consumer.assignment)
        cluster.sandbox.start_fault(cluster.coordinator(), Fault.FREEZE)
        consumer.poll(20)
        cluster.sandbox.heal()
        consumer.poll(20)
        consumer.close(30)
        found = next(event for event in events if isinstance(event, CoordinatorFound))
        assert (found.owner, found.node_id) == (f"group {GROUP}", cluster.coordinator())
        lost = next(event for event in events if isinstance(event, CoordinatorLost))
        assert (lost.owner, lost.node_id) == (f"group {GROUP}", cluster.coordinator())
        steps = [event for event in events if isinstance(event, GroupChanged)]
        assert [each.step for each in steps[:2]] == [GroupStep.JOINED, GroupStep.ASSIGNED]
        assert {(each.member_id, each.generation) for each in steps[:2]} == {(member.member_id, member.generation)}
        assert steps[1].partitions == owned
        assert steps[-1].step is GroupStep.LEFT
        assert steps[-1].member_id

    cluster.run(body)
