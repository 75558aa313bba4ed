"""Share groups of the sandbox hand out records: locks, acknowledgements, sessions, and the start offset (KIP-932)."""

from collections.abc import Sequence

import pytest

from kctl.client.broker_errors import ErrorCode
from kctl.client.protocol.api.share_groups import (
    AcknowledgementBatch,
    AcknowledgePartition,
    AcknowledgeTopic,
    FetchPartition,
    FetchTopic,
    ForgottenTopic,
    ShareAcknowledgeRequest,
    ShareAcknowledgeResponse,
    ShareFetchRequest,
    ShareFetchResponse,
    ShareGroupHeartbeatRequest,
)
from kctl.sandbox.configs import Kind
from kctl.sandbox.groups.share import ShareKey
from tests.unit.sandbox.scenario import Client, Scenario, batch

LOCK_MS = 30_000
ACCEPT, RELEASE, REJECT, RENEW = 1, 2, 3, 4


class Member:
    """A member of group g that fetches partition 0 of topic t in a share session."""

    def __init__(self, scenario: Scenario, name: str = "a", *, reset: str = "earliest") -> None:
        scenario.cluster.configs.replace(Kind.GROUP, "g", {"share.auto.offset.reset": reset})
        self.scenario = scenario
        self.client: Client = scenario.connect()
        self.name = name
        self.epoch = 0
        group = scenario.cluster.groups.share("g", create=True)
        join = ShareGroupHeartbeatRequest(group_id="g", member_id=name, subscribed_topic_names=["t"])
        group.heartbeat(join, "client")

    def request(self, *acknowledged: tuple[int, int, int], **fields: object) -> ShareFetchRequest:
        batches = [
            AcknowledgementBatch(first_offset=a, last_offset=b, acknowledge_types=[c]) for a, b, c in acknowledged
        ]
        part = FetchPartition(partition_index=0, acknowledgement_batches=batches)
        topic = FetchTopic(topic_id=self.scenario.topic_id("t"), partitions=[part])
        wanted = [topic] if self.epoch == 0 or batches else []
        given = {"max_records": 500, "topics": wanted, **fields}
        return ShareFetchRequest(group_id="g", member_id=self.name, share_session_epoch=self.epoch, **given)  # type: ignore[arg-type]  # fields of the request

    def fetch(self, *acknowledged: tuple[int, int, int], **fields: object) -> ShareFetchResponse:
        response = self.client.call(self.request(*acknowledged, **fields), ShareFetchResponse)
        assert response.error_code == 0
        self.epoch += 1
        return response

    def acquired(self, *acknowledged: tuple[int, int, int], **fields: object) -> list[tuple[int, int, int]]:
        """Fetch, and return the acquired ranges with the number of deliveries."""
        return ranges(self.fetch(*acknowledged, **fields))

    def acknowledge(self, first: int, last: int, *types: int) -> int:
        """Acknowledge, and return the error code of the partition."""
        batches = [AcknowledgementBatch(first_offset=first, last_offset=last, acknowledge_types=list(types))]
        part = AcknowledgePartition(partition_index=0, acknowledgement_batches=batches)
        topic = AcknowledgeTopic(topic_id=self.scenario.topic_id("t"), partitions=[part])
        request = ShareAcknowledgeRequest(
            group_id="g", member_id=self.name, share_session_epoch=self.epoch, topics=[topic]
        )
        response = self.client.call(request, ShareAcknowledgeResponse)
        assert response.error_code == 0
        self.epoch += 1
        return response.responses[0].partitions[0].error_code

    def close(self) -> ShareFetchResponse:
        self.epoch = -1
        return self.client.call(self.request(), ShareFetchResponse)

    @property
    def start_offset(self) -> int:
        group = self.scenario.cluster.groups.share("g", create=False)
        return group.start_offsets[ShareKey(self.scenario.topic_id("t"), 0)]


def ranges(response: ShareFetchResponse) -> list[tuple[int, int, int]]:
    return [
        (one.first_offset, one.last_offset, one.delivery_count)
        for topic in response.responses
        for part in topic.partitions
        for one in part.acquired_records
    ]


@pytest.fixture
def scenario() -> Scenario:
    return Scenario(topics={"t": 1})


def write(scenario: Scenario, *counts: int) -> None:
    """Append a batch of each number of records."""
    for count in counts:
        scenario.sandbox.append("t", 0, batch(*[b"x"] * count))


def test_records_are_locked_for_one_member_until_acknowledged(scenario: Scenario) -> None:
    write(scenario, 3, 2)
    one, other = Member(scenario, "a"), Member(scenario, "b")
    assert one.acquired(max_records=3) == [(0, 2, 1)]
    assert other.acquired() == [(3, 4, 1)]
    assert one.acquired((0, 1, ACCEPT)) == []
    assert one.start_offset == 2
    assert one.acknowledge(2, 2, REJECT) == 0
    assert one.start_offset == 3
    assert other.acquired((3, 4, ACCEPT)) == []
    assert one.start_offset == 5


def test_released_record_is_handed_out_again_to_a_member_that_waits(scenario: Scenario) -> None:
    write(scenario, 2)
    one, other = Member(scenario, "a"), Member(scenario, "b")
    assert one.acquired() == [(0, 1, 1)]
    waiting = other.client.send(other.request(max_wait_ms=500), 2)
    assert other.client.frames == []
    assert one.acknowledge(0, 1, ACCEPT, RELEASE) == 0
    assert ranges(other.client.take(ShareFetchResponse, 2, waiting)) == [(1, 1, 2)]
    assert one.start_offset == 1


def test_expired_lock_frees_its_records_until_the_fifth_delivery(scenario: Scenario) -> None:
    write(scenario, 1)
    member = Member(scenario)
    for delivery in range(1, 6):
        assert member.acquired() == [(0, 0, delivery)]
        assert member.acquired() == []
        scenario.scheduler.advance(LOCK_MS)
    assert member.acquired() == []
    assert member.start_offset == 1
    assert member.acknowledge(0, 0, ACCEPT) == 0  # before the start offset, as in Kafka


def test_renewed_lock_lasts_for_another_duration(scenario: Scenario) -> None:
    write(scenario, 1)
    member = Member(scenario)
    assert member.acquired() == [(0, 0, 1)]
    scenario.scheduler.advance(LOCK_MS - 1)
    assert member.acknowledge(0, 0, RENEW) == 0
    scenario.scheduler.advance(LOCK_MS - 1)
    assert member.acquired() == []
    assert member.acknowledge(0, 0, ACCEPT) == 0
    assert member.start_offset == 1


@pytest.mark.parametrize(
    ("first", "last", "types", "code"),
    [
        (0, 1, [ACCEPT], ErrorCode.INVALID_RECORD_STATE),
        (1, 1, [ACCEPT], ErrorCode.INVALID_RECORD_STATE),
        (0, 0, [9], ErrorCode.INVALID_REQUEST),
        (1, 0, [ACCEPT], ErrorCode.INVALID_REQUEST),
        (0, 0, [ACCEPT, ACCEPT], ErrorCode.INVALID_REQUEST),
        (7, 9, [ACCEPT], ErrorCode.INVALID_RECORD_STATE),
    ],
)
def test_acknowledgement_of_records_that_are_not_held_changes_nothing(
    scenario: Scenario, first: int, last: int, types: Sequence[int], code: ErrorCode
) -> None:
    write(scenario, 1, 1)
    one, other = Member(scenario, "a"), Member(scenario, "b")
    assert one.acquired(max_records=1) == [(0, 0, 1)]
    assert other.acquired() == [(1, 1, 1)]
    assert one.acknowledge(first, last, *types) == code
    assert one.start_offset == 0
    assert one.acknowledge(0, 0, ACCEPT) == 0


@pytest.mark.parametrize(("mode", "acquired"), [(0, [(0, 2, 1)]), (1, [(0, 1, 1)])])
def test_limit_of_records_divides_a_batch_only_in_strict_mode(
    scenario: Scenario, mode: int, acquired: list[tuple[int, int, int]]
) -> None:
    write(scenario, 3, 3)
    assert Member(scenario).acquired(max_records=2, share_acquire_mode=mode) == acquired


def test_closed_session_frees_its_records(scenario: Scenario) -> None:
    write(scenario, 2)
    one, other = Member(scenario, "a"), Member(scenario, "b")
    assert one.acquired() == [(0, 1, 1)]
    assert one.close().error_code == 0
    assert other.acquired() == [(0, 1, 2)]


def test_session_rejects_other_epochs_and_unknown_members(scenario: Scenario) -> None:
    member = Member(scenario)
    assert member.client.call(member.request(), ShareFetchResponse).error_code == 0
    for epoch, code in ((7, ErrorCode.INVALID_SHARE_SESSION_EPOCH), (-1, 0), (1, ErrorCode.SHARE_SESSION_NOT_FOUND)):
        member.epoch = epoch
        assert member.client.call(member.request(), ShareFetchResponse).error_code == code
    member.epoch = 0
    early = member.client.call(member.request((0, 0, ACCEPT)), ShareFetchResponse)
    assert early.error_code == ErrorCode.INVALID_REQUEST
    for group, code in (("", ErrorCode.INVALID_REQUEST), ("none", ErrorCode.GROUP_ID_NOT_FOUND)):
        request = ShareFetchRequest(group_id=group, member_id="a")
        assert member.client.call(request, ShareFetchResponse).error_code == code


def test_forgotten_partition_and_unknown_topic_are_not_read(scenario: Scenario) -> None:
    write(scenario, 1)
    member = Member(scenario)
    member.fetch(max_records=0)
    forgotten = ForgottenTopic(topic_id=scenario.topic_id("t"), partitions=[0])
    unknown = FetchTopic(topic_id=b"\1" * 16, partitions=[FetchPartition(partition_index=0)])
    response = member.fetch(topics=[unknown], forgotten_topics_data=[forgotten])
    [topic] = response.responses
    assert topic.partitions[0].error_code == ErrorCode.UNKNOWN_TOPIC_ID


def test_first_fetch_starts_at_the_end_unless_the_group_starts_at_the_earliest_offset(scenario: Scenario) -> None:
    write(scenario, 2)
    member = Member(scenario, reset="latest")
    assert member.acquired() == []
    assert member.start_offset == 2
    write(scenario, 1)
    assert member.acquired() == [(2, 2, 1)]


def test_deleted_records_are_before_the_start_offset(scenario: Scenario) -> None:
    write(scenario, 2, 2)
    member = Member(scenario)
    assert member.acquired(max_records=2) == [(0, 1, 1)]
    scenario.cluster.topics["t"].partitions[0].log.delete_records(3)
    assert member.acquired() == [(3, 3, 1)]
    assert member.start_offset == 3


def test_new_leader_knows_no_locks() -> None:
    scenario = Scenario(nodes=2)
    scenario.sandbox.create_topic("t", 1, 2)
    scenario.sandbox.move_leader("t", 0, 1)
    write(scenario, 1)
    member = Member(scenario)
    assert member.acquired() == [(0, 0, 1)]
    scenario.sandbox.move_leader("t", 0, 2)
    [topic] = member.fetch().responses
    assert topic.partitions[0].error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert topic.partitions[0].current_leader.leader_id == 2
    member.client, member.epoch = scenario.connect(2), 0
    assert member.acquired() == [(0, 0, 2)]
