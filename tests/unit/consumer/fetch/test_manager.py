from typing import NoReturn

import pytest

from kctl.client.broker_errors import ErrorCode
from kctl.client.cluster import NO_NODE, NO_TOPIC_ID, TopicPartition
from kctl.client.consumer.events import Fetched, GiveBack, PartitionFailed, StartFetch, Waiting
from kctl.client.consumer.fetch.manager import FetchManager
from kctl.client.consumer.waiting import WaitKind
from kctl.client.errors import AuthenticationError, ConnectionLost, ConnectionRefused, CorruptBatchError
from kctl.client.network.in_flight import Outgoing
from kctl.client.protocol.api.fetch import (
    AbortedTransaction,
    FetchableTopicResponse,
    FetchRequest,
    FetchResponse,
    PartitionData,
)
from kctl.client.protocol.frame_slice import FrameSlice
from kctl.client.requests.leaders import Leaders
from kctl.client.requests.request import Poll
from tests.support.growth import lines_of
from tests.unit.consumer.fakes import (
    T0,
    T1,
    T2,
    TOPIC_ID,
    FakeClient,
    Reports,
    answer,
    batch,
    config,
    fail,
    rng,
    topic,
)


class Scenario:
    """A fetch manager with the partitions of topic t assigned from offset 0, epochs 1, 2, ..."""

    def __init__(
        self, client: FakeClient, *assigned: TopicPartition, prefetch_bytes: int = 1 << 26, **props: object
    ) -> None:
        self.client = client
        self.reports = Reports()
        leaders = Leaders(client.as_client())
        self.manager = FetchManager(config(**props), leaders, rng(), self.reports.append, prefetch_bytes)
        for epoch, tp in enumerate(assigned, start=1):
            self.manager.start(StartFetch(tp, epoch, 0))

    def requests(self, now_ms: int = 0) -> list[Outgoing]:
        return self.manager.poll(now_ms).requests

    def request(self, now_ms: int = 0) -> Outgoing:
        [request] = self.requests(now_ms)
        return request

    def waiting(self) -> list[str]:
        return [event.reason for event in self.reports.take() if isinstance(event, Waiting)]


def asked(request: Outgoing) -> list[tuple[str, int, int]]:
    """What a fetch asks for: topic, partition, offset."""
    message = request.request
    assert isinstance(message, FetchRequest)
    return [(t.topic, p.partition, p.fetch_offset) for t in message.topics for p in t.partitions]


def message(request: Outgoing) -> FetchRequest:
    assert isinstance(request.request, FetchRequest)
    return request.request


def brings(*partitions: PartitionData, error_code: int = 0) -> FetchResponse:
    return FetchResponse(
        error_code=error_code,
        responses=[FetchableTopicResponse(topic_id=TOPIC_ID, partitions=list(partitions))],
    )


def data(index: int, records: bytes, *, end: int = 100) -> PartitionData:
    return PartitionData(partition_index=index, records=records, high_watermark=end, last_stable_offset=end)


def error(index: int, code: int) -> PartitionData:
    return PartitionData(partition_index=index, error_code=code)


def test_one_fetch_in_flight_at_each_leader() -> None:
    scenario = Scenario(FakeClient(topic("t", [1, 2, 1])), T0, T1, T2)
    requests = scenario.requests()
    assert {request.node_id: asked(request) for request in requests} == {
        1: [("t", 0, 0), ("t", 2, 0)],
        2: [("t", 1, 0)],
    }
    assert scenario.requests() == []


def test_a_partition_that_joins_later_waits_for_the_fetch_in_flight() -> None:
    scenario = Scenario(FakeClient(topic("t", [1, 1])), T0)
    request = scenario.request()
    scenario.manager.start(StartFetch(T1, 2, 0))
    assert scenario.requests() == []
    answer(request, brings(data(0, b"", end=0)))
    assert asked(scenario.request()) == [("t", 0, 0), ("t", 1, 0)]


def test_a_fetch_says_what_the_config_wants() -> None:
    scenario = Scenario(
        FakeClient(topic("t", [1])), T0,
        fetch_min_bytes=9, fetch_max_wait_ms=77, max_partition_fetch_bytes=1000, isolation_level="read_committed",
        request_timeout_ms=5000,
    )  # fmt: skip
    request = scenario.request()
    sent = message(request)
    assert (sent.min_bytes, sent.max_wait_ms, sent.max_bytes, sent.isolation_level) == (9, 77, 1000, 1)
    assert sent.topics[0].topic_id == TOPIC_ID
    assert sent.topics[0].partitions[0].current_leader_epoch == 7
    assert (request.timeout_ms, request.max_version) == (5000, None)


def test_without_topic_ids_the_last_version_with_names_is_asked_for() -> None:
    assert Scenario(FakeClient(topic("t", [1], topic_id=NO_TOPIC_ID)), T0).request().max_version == 12


def test_data_is_handed_over_undecoded_and_the_next_fetch_goes_on_behind_it() -> None:
    scenario = Scenario(FakeClient(topic("t", [1])), T0)
    records = batch(0, 3, gap=4) + batch(7, 2) + batch(9, 1)[:30]
    answer(scenario.request(), brings(data(0, records)))
    [fetched] = scenario.reports.take()
    assert isinstance(fetched, Fetched)
    chunk = fetched.chunk
    assert (chunk.topic_partition, chunk.epoch, chunk.fetch_offset, chunk.next_offset) == (T0, 1, 0, 9)
    assert chunk.data is records, "no copy"
    assert [record.offset for record in chunk.reader().records()] == [0, 1, 2, 7, 8]
    assert chunk.aborted_transactions is None
    assert asked(scenario.request()) == [("t", 0, 9)]


def test_records_of_a_response_are_not_copied_unless_they_would_keep_much_more_in_memory() -> None:
    scenario = Scenario(FakeClient(topic("t", [1, 1])), T0, T1)
    large, small = batch(0, 1, value_bytes=500), batch(0, 1)
    frame = b"head" + large + small + batch(1, 9)[:100]
    large_part, small_part = data(0, large), data(1, small)
    large_part.records = FrameSlice(frame, 4, 4 + len(large))  # type: ignore[assignment]  # as decoded in place
    small_part.records = FrameSlice(frame, 4 + len(large), len(frame) - 100)  # type: ignore[assignment]
    answer(scenario.request(), brings(large_part, small_part))
    in_place, copied = (report.chunk for report in scenario.reports.take() if isinstance(report, Fetched))
    assert in_place.buffer is frame
    assert (in_place.data, in_place.size_bytes) == (large, len(large))
    assert (copied.buffer, copied.size_bytes) == (small, len(small))
    assert [[record.offset for record in chunk.reader().records()] for chunk in (in_place, copied)] == [[0], [0]]
    assert asked(scenario.request()) == [("t", 0, 1), ("t", 1, 1)]


def test_damage_ends_the_chunk_where_it_lies_in_its_frame() -> None:
    scenario = Scenario(FakeClient(topic("t", [1])), T0)
    good = batch(0, 2)
    frame = b"head" + good + b"\xff" * 100
    part = data(0, b"")
    part.records = FrameSlice(frame, 4, len(frame))  # type: ignore[assignment]
    answer(scenario.request(), brings(part))
    fetched, failed = scenario.reports.take()
    assert isinstance(fetched, Fetched)
    assert fetched.chunk.data == good
    assert isinstance(failed, PartitionFailed)
    assert isinstance(failed.error, CorruptBatchError)
    assert f"invalid batch header at byte {len(good)} " in str(failed.error)
    assert failed.error.offset == len(good)


def test_aborted_transactions_go_with_the_data() -> None:
    scenario = Scenario(FakeClient(topic("t", [1])), T0, isolation_level="read_committed")
    part = data(0, batch(0, 1))
    part.aborted_transactions = [AbortedTransaction(producer_id=5, first_offset=0)]
    answer(scenario.request(), brings(part))
    [fetched] = scenario.reports.take()
    assert isinstance(fetched, Fetched)
    assert fetched.chunk.aborted_transactions == ((5, 0),)


def test_seek_drops_the_response_of_a_fetch_in_flight() -> None:
    scenario = Scenario(FakeClient(topic("t", [1])), T0)
    request = scenario.request()
    scenario.manager.start(StartFetch(T0, 2, 50))
    assert scenario.requests() == [], "one fetch at a time, even now"
    answer(request, brings(data(0, batch(0, 1))))
    assert scenario.reports.take() == []
    assert asked(scenario.request()) == [("t", 0, 50)]


def test_response_for_a_partition_that_is_no_longer_assigned_is_dropped() -> None:
    scenario = Scenario(FakeClient(topic("t", [1])), T0)
    request = scenario.request()
    scenario.manager.forget(T0)
    answer(request, brings(data(0, batch(0, 1))))
    assert scenario.reports.take() == []
    assert scenario.requests() == []


def test_the_next_fetch_is_on_the_wire_while_the_application_has_the_last_one() -> None:
    first, second = batch(0, 1, value_bytes=900), batch(1, 1, value_bytes=900)
    scenario = Scenario(FakeClient(topic("t", [1])), T0, max_partition_fetch_bytes=len(first))
    answer(scenario.request(), brings(data(0, first)))
    answer(scenario.request(), brings(data(0, second)))
    assert scenario.requests() == []
    scenario.manager.consumed(T0, 1, 1)
    assert asked(scenario.request()) == [("t", 0, 2)]
    little = Scenario(FakeClient(topic("t", [1])), T0, max_partition_fetch_bytes=len(first), prefetch_bytes=2500)
    answer(little.request(), brings(data(0, first)))
    assert little.requests() == [], "no room for a third one"


def test_a_full_partition_waits_until_its_data_is_consumed() -> None:
    scenario = Scenario(FakeClient(topic("t", [1, 1])), T0, T1, max_partition_fetch_bytes=100)
    big = batch(0, 1, value_bytes=200)
    answer(scenario.request(), brings(data(0, big), data(1, b"", end=0)))
    assert scenario.manager.poll(0) == Poll([], 500)
    request = scenario.request(500)
    assert asked(request) == [("t", 1, 0)]
    assert message(request).max_wait_ms == 20, "the full partition must not wait for the quiet one"
    answer(request, brings(data(1, b"", end=0)), at_ms=520)
    assert (scenario.manager.poll(520), scenario.manager.wants_room) == (Poll([], 1020), True)
    scenario.manager.consumed(T0, 1, 1)
    assert (asked(scenario.request(520)), scenario.manager.wants_room) == ([("t", 1, 0), ("t", 0, 1)], False)


@pytest.mark.parametrize("is_idle_before", [False, True])
def test_a_quiet_partition_beside_a_full_one_is_fetched_twice_a_second(is_idle_before: bool) -> None:
    scenario = Scenario(FakeClient(topic("t", [1, 1])), T0, T1, max_partition_fetch_bytes=100)
    full = brings(data(0, batch(0, 1, value_bytes=200)), data(1, b"", end=0))
    full.session_id = 7
    answer(scenario.request(), full)
    scenario.manager.set_paused(T0, is_idle_before)
    now_ms = fetches = 0
    while now_ms < 5000:
        if now_ms >= 2000:
            scenario.manager.set_paused(T0, False)
        poll = scenario.manager.poll(now_ms)
        for request in poll.requests:
            now_ms += message(request).max_wait_ms
            answer(request, FetchResponse(session_id=7), at_ms=now_ms)
            fetches += 1
        if not poll.requests:
            now_ms = poll.next_deadline_at_ms
    assert 8 <= fetches <= 12


def test_a_partition_that_had_records_is_fetched_at_once_beside_a_full_one() -> None:
    scenario = Scenario(FakeClient(topic("t", [1, 1])), T0, T1, max_partition_fetch_bytes=1000)
    answer(scenario.request(), brings(data(0, batch(0, 1, value_bytes=1000)), data(1, batch(0, 1))))
    assert asked(scenario.request()) == [("t", 1, 1)]


def test_a_partition_that_brought_nothing_for_lack_of_room_is_fetched_at_once_beside_a_full_one() -> None:
    scenario = Scenario(FakeClient(topic("t", [1, 1])), T0, T1, max_partition_fetch_bytes=1000)
    answer(scenario.request(), brings(data(0, batch(0, 1, value_bytes=1000)), data(1, b"", end=100)))
    assert asked(scenario.request()) == [("t", 1, 0)]


def test_the_budget_bounds_what_is_held_and_in_flight() -> None:
    client = FakeClient(topic("t", [1, 2]))
    scenario = Scenario(client, T0, T1, max_partition_fetch_bytes=1000, prefetch_bytes=1200)
    one, two = scenario.requests()
    assert [message(one).max_bytes, message(two).max_bytes] == [600, 600]
    big = batch(0, 1, value_bytes=900)
    answer(one, brings(data(0, big)))
    answer(two, brings(data(1, big)))
    assert scenario.requests() == []
    scenario.manager.consumed(T0, 1, 1)
    assert (scenario.requests(), scenario.manager.wants_room) == ([], True), "less is left than half of a node's share"


def test_rest_of_the_budget_is_shared_by_the_nodes() -> None:
    client = FakeClient(topic("t", [1, 2]))
    scenario = Scenario(client, T0, T1, max_partition_fetch_bytes=1000, prefetch_bytes=1200)
    one, two = scenario.requests()
    overhead = len(batch(0, 1, value_bytes=900)) - 900
    answer(one, brings(data(0, batch(0, 1, value_bytes=900))))
    answer(two, brings(data(1, batch(0, 1, value_bytes=300 - overhead))))
    assert scenario.requests() == []
    scenario.manager.consumed(T0, 1, 1)
    scenario.manager.consumed(T0, 1, 1)  # a KeyboardInterrupt may repeat it
    assert [(asked(request), message(request).max_bytes) for request in scenario.requests()] == [
        ([("t", 0, 1)], 600),
        ([("t", 1, 1)], 300),
    ]


def test_fetch_in_flight_reserves_the_bytes_it_may_bring() -> None:
    client = FakeClient(topic("t", [1, 2]))
    scenario = Scenario(client, T0, max_partition_fetch_bytes=1000, prefetch_bytes=1200)
    assert message(scenario.request()).max_bytes == 1000
    scenario.manager.start(StartFetch(T1, 2, 0))
    assert scenario.requests() == []


def test_a_record_larger_than_every_limit_is_taken_and_then_waited_for() -> None:
    limits = {"max_partition_fetch_bytes": 100, "fetch_max_bytes": 100, "prefetch_bytes": 100}
    scenario = Scenario(FakeClient(topic("t", [1])), T0, **limits)
    huge = batch(0, 1, value_bytes=5000)
    answer(scenario.request(), brings(data(0, huge)))
    assert isinstance(scenario.reports.take()[0], Fetched)
    assert scenario.requests() == []
    scenario.manager.consumed(T0, 1, 1)
    assert asked(scenario.request()) == [("t", 0, 1)]


def test_limits_of_nothing_still_bring_a_batch_at_a_time() -> None:
    scenario = Scenario(FakeClient(topic("t", [1])), T0, max_partition_fetch_bytes=0, fetch_max_bytes=0)
    request = scenario.request()
    assert message(request).max_bytes == 0
    answer(request, brings(data(0, batch(0, 1))))
    assert scenario.requests() == []
    scenario.manager.consumed(T0, 1, 1)
    assert asked(scenario.request()) == [("t", 0, 1)]


def test_nothing_is_fetched_behind_the_end_that_is_asked_for() -> None:
    scenario = Scenario(FakeClient(topic("t", [1, 1])), T0, T1)
    scenario.manager.start(StartFetch(T0, 3, 0, end_offset=6))
    answer(scenario.request(), brings(data(0, batch(0, 5)), data(1, b"", end=0)))
    request = scenario.request()
    assert asked(request) == [("t", 1, 0), ("t", 0, 5)]
    scenario.reports.take()
    answer(request, brings(data(0, batch(5, 5)), data(1, b"", end=0)))
    assert "at the requested end, offset 6" in scenario.waiting()
    assert asked(scenario.request()) == [("t", 1, 0)]
    scenario.manager.start(StartFetch(T0, 4, 6, end_offset=6))
    assert scenario.waiting() == ["at the requested end, offset 6"], "an empty range"
    scenario.manager.start(StartFetch(T0, 5, 6))
    assert scenario.waiting() == []
    assert scenario.requests() == [], "one is in flight"


def test_the_last_fetch_before_an_end_asks_for_little_more_than_is_left() -> None:
    most = 10_000_000
    records = batch(0, 10, value_bytes=1000)
    scenario = Scenario(FakeClient(topic("t", [1])), T0, max_partition_fetch_bytes=most)
    for epoch, end_offset, guess, least in (
        (3, 1010, 1010 * 256, len(records) * 100),
        (4, 100_000, most, most),
        (5, 11, 11 * 256, len(records) // 10),
    ):
        scenario.manager.start(StartFetch(T0, epoch, 0, end_offset=end_offset))
        first = scenario.request()
        assert guess <= message(first).max_bytes <= min(most, guess * 1.2 + 70_000), "nothing is known of its records"
        answer(first, brings(data(0, records)))
        second = scenario.request()
        [part] = message(second).topics[0].partitions
        assert least <= part.partition_max_bytes == message(second).max_bytes <= min(most, least * 1.2 + 70_000)
        answer(second, brings(data(0, b"")))


def test_paused_partitions_are_not_fetched_and_give_back_room_that_others_need() -> None:
    scenario = Scenario(FakeClient(topic("t", [1, 1])), T0, T1, max_partition_fetch_bytes=1000, prefetch_bytes=1000)
    answer(scenario.request(), brings(data(0, batch(0, 1, value_bytes=990)), data(1, b"", end=0)))
    scenario.reports.take()
    assert scenario.requests() == []
    assert scenario.reports.take() == [], "it is not paused: the application will read it"
    scenario.manager.set_paused(T0, True)
    assert scenario.requests() == []
    assert scenario.reports.take() == [GiveBack(T0, 1)]
    assert scenario.requests() == []
    assert scenario.reports.take() == [], "asked once"
    scenario.manager.start(StartFetch(T0, 3, 0))
    scenario.manager.set_paused(T0, True)
    assert asked(scenario.request()) == [("t", 1, 0)]


def test_a_partition_that_brought_data_is_asked_last() -> None:
    scenario = Scenario(FakeClient(topic("t", [1, 1, 1])), T0, T1, T2)
    answer(scenario.request(), brings(data(0, batch(0, 1)), data(1, b"", end=0), data(2, b"", end=0)))
    assert asked(scenario.request()) == [("t", 1, 0), ("t", 2, 0), ("t", 0, 1)]


def test_a_leader_that_moved_is_found_by_newer_metadata() -> None:
    client = FakeClient(topic("t", [1]))
    scenario = Scenario(client, T0)
    answer(scenario.request(), brings(error(0, ErrorCode.NOT_LEADER_OR_FOLLOWER)), at_ms=1000)
    assert client.is_refresh_wanted
    assert scenario.manager.poll(1000).next_deadline_at_ms == 1100
    assert scenario.requests(1099) == []
    client.know(topic("t", [2]))
    request = scenario.request(1100)
    assert (request.node_id, asked(request)) == (2, [("t", 0, 0)])


def test_fenced_and_unknown_epochs_refresh_the_metadata() -> None:
    for code in (ErrorCode.FENCED_LEADER_EPOCH, ErrorCode.UNKNOWN_LEADER_EPOCH, ErrorCode.UNKNOWN_TOPIC_ID):
        client = FakeClient(topic("t", [1]))
        scenario = Scenario(client, T0)
        answer(scenario.request(), brings(error(0, code)))
        assert client.is_refresh_wanted
        assert [code.name in reason for reason in scenario.waiting()] == [True]


def test_a_lost_connection_is_retried_after_the_back_off() -> None:
    scenario = Scenario(FakeClient(topic("t", [1])), T0)
    fail(scenario.request(), ConnectionLost("reset"), at_ms=5)
    assert scenario.waiting() == ["reset"]
    assert scenario.requests(104) == []
    assert asked(scenario.request(105)) == [("t", 0, 0)]


def test_error_that_is_not_retriable_stops_the_partition_until_the_application_decides() -> None:
    for code in (ErrorCode.TOPIC_AUTHORIZATION_FAILED, ErrorCode.OFFSET_OUT_OF_RANGE, ErrorCode.CORRUPT_MESSAGE):
        scenario = Scenario(FakeClient(topic("t", [1])), T0)
        answer(scenario.request(), brings(error(0, code)))
        [failed] = scenario.reports.take()
        assert isinstance(failed, PartitionFailed)
        assert (failed.topic_partition, failed.epoch, failed.offset) == (T0, 1, 0)
        assert code.name in str(failed.error)
        assert scenario.requests(10_000) == []
        scenario.manager.start(StartFetch(T0, 2, 9))
        assert asked(scenario.request(10_000)) == [("t", 0, 9)]


def test_damage_is_reported_behind_what_is_whole() -> None:
    scenario = Scenario(FakeClient(topic("t", [1])), T0)
    bad = bytearray(batch(2, 1))
    bad[16] = 9
    answer(scenario.request(), brings(data(0, batch(0, 2) + bytes(bad))))
    fetched, failed = scenario.reports.take()
    assert isinstance(fetched, Fetched)
    assert fetched.chunk.data == batch(0, 2)
    assert isinstance(failed, PartitionFailed)
    assert "t-0 is damaged at or after offset 2" in str(failed.error)


def test_a_fetch_without_a_whole_batch_is_an_error_not_a_loop() -> None:
    scenario = Scenario(FakeClient(topic("t", [1])), T0)
    answer(scenario.request(), brings(data(0, batch(0, 1)[:20])))
    [failed] = scenario.reports.take()
    assert isinstance(failed, PartitionFailed)
    assert "no complete batch" in str(failed.error)


def test_an_error_of_the_whole_answer_concerns_every_partition() -> None:
    scenario = Scenario(FakeClient(topic("t", [1, 1])), T0, T1)
    answer(scenario.request(), brings(error_code=ErrorCode.KAFKA_STORAGE_ERROR))
    assert len(scenario.waiting()) == 2


def test_why_nothing_arrives() -> None:
    client = FakeClient()
    scenario = Scenario(client, T0, isolation_level="read_committed")
    assert scenario.requests() == []
    assert scenario.waiting() == ["waiting for metadata"]
    client.know(topic("t", [NO_NODE]))
    assert scenario.requests() == []
    assert scenario.waiting() == ["no leader"]
    client.know(topic("u", [1]), topic("t", []))
    assert scenario.requests() == []
    assert "the topic has 0 partitions" in scenario.waiting()[0]
    client.know(topic("t", [1]))
    client.network.down[1] = ConnectionRefused("refused")
    assert scenario.requests() == []
    assert scenario.waiting() == ["leader host1:9092 (id 1) cannot be reached: refused"]
    del client.network.down[1]
    answer(scenario.request(), brings(data(0, b"", end=0)))
    assert scenario.waiting() == ["reached the end of the partition, offset 0"]
    part = data(0, b"", end=9)
    part.last_stable_offset = 0
    answer(scenario.request(), brings(part))
    assert scenario.waiting() == ["an open transaction begins at offset 0"]
    answer(scenario.request(), brings(data(0, batch(0, 1))))
    assert scenario.waiting() == [""]


def test_leader_that_refused_is_waited_for_because_it_is_dialled_again() -> None:
    client = FakeClient(topic("t", [1]))
    client.network.down[1] = AuthenticationError("wrong password")
    scenario = Scenario(client, T0)
    assert scenario.requests() == []
    [waiting] = scenario.reports.take()
    assert isinstance(waiting, Waiting)
    assert str(waiting.cause) == "wrong password"


def test_a_topic_is_not_read_under_the_name_that_another_one_had() -> None:
    client = FakeClient(topic("t", [1]))
    scenario = Scenario(client)
    scenario.manager.start(StartFetch(T0, 1, 5, topic_id=TOPIC_ID[::-1]))
    assert scenario.requests() == []
    assert client.is_refresh_wanted, "the metadata may be the older of the two"
    assert scenario.waiting() == ["topic t was recreated: the topic id in the metadata differs from the assignment"]
    client.know(topic("t", [1], topic_id=TOPIC_ID[::-1]))
    assert asked(scenario.request()) == [("t", 0, 5)]


class Untouched(dict[TopicPartition, object]):
    """Partitions that must not be walked over."""

    def items(self) -> NoReturn:
        raise AssertionError("walked over")


def test_partitions_are_not_walked_over_again_while_all_wait_for_an_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    scenario = Scenario(FakeClient(topic("t", [1, 1, 1])), T0, T1)
    request = scenario.request()
    assert scenario.requests() == []
    with monkeypatch.context() as patched:
        patched.setattr(scenario.manager, "_partitions", Untouched(scenario.manager._partitions))
        assert scenario.requests() == []
    answer(request, brings(data(0, b"", end=0), data(1, b"", end=0)))
    assert asked(scenario.request()) == [("t", 0, 0), ("t", 1, 0)]


@pytest.mark.parametrize("change", ["start", "resume"])
def test_partitions_that_change_are_looked_at_while_others_wait(change: str) -> None:
    scenario = Scenario(FakeClient(topic("t", [1, 2])), T0, T1)
    scenario.manager.set_paused(T1, paused=True)
    assert [each.node_id for each in scenario.requests()] == [1]
    assert scenario.requests() == []
    if change == "start":
        scenario.manager.start(StartFetch(T1, 9, 0))
    else:
        scenario.manager.set_paused(T1, paused=False)
    assert [each.node_id for each in scenario.requests()] == [2]


def test_fetch_without_response_is_reported_once_at_any_number_of_partitions() -> None:
    def lines_of_later_polls(count: int) -> int:
        partitions = [TopicPartition("t", number) for number in range(count)]
        scenario = Scenario(FakeClient(topic("t", [1] * count)), *partitions)
        scenario.requests()
        scenario.requests(1000)
        assert scenario.waiting() == ["no response from broker 1"] * count
        scenario.requests(1001)
        lines = lines_of(lambda: scenario.requests(1002))
        assert scenario.waiting() == []
        return lines

    assert lines_of_later_polls(100) == lines_of_later_polls(2)


def test_restarted_partition_of_a_fetch_without_response_is_reported_again() -> None:
    scenario = Scenario(FakeClient(topic("t", [1, 1])), T0, T1)
    scenario.requests()
    scenario.requests(1000)
    scenario.reports.take()
    scenario.manager.start(StartFetch(T1, 3, 7))
    scenario.requests(1001)
    assert [event for event in scenario.reports.take() if isinstance(event, Waiting)] == [
        Waiting(T1, 3, "no response from broker 1", WaitKind.ANSWER, 1, None, at_ms=0)
    ]
