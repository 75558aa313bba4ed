"""Fetch: immediate and delayed responses, limits, epochs, and IDs."""

import pytest

from kctl.client.broker_errors import ErrorCode
from kctl.client.protocol.api.fetch import (
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    PartitionData,
)
from tests.unit.sandbox.scenario import WALL_MS, Client, Scenario, batch

VERSION = 12


def _asked(index: int, offset: int = 0, epoch: int = -1, max_bytes: int = 10_000) -> FetchPartition:
    return FetchPartition(
        partition=index, fetch_offset=offset, current_leader_epoch=epoch, partition_max_bytes=max_bytes
    )


def _fetch(
    *partitions: FetchPartition, max_wait_ms: int = 0, min_bytes: int = 1, max_bytes: int = 100_000, isolation: int = 0
) -> FetchRequest:
    return FetchRequest(
        max_wait_ms=max_wait_ms,
        min_bytes=min_bytes,
        max_bytes=max_bytes,
        isolation_level=isolation,
        topics=[FetchTopic(topic="t", partitions=list(partitions))],
    )


def _data(client: Client, request: FetchRequest) -> list[PartitionData]:
    return client.call(request, FetchResponse, VERSION).responses[0].partitions


def _append(scenario: Scenario, index: int, *values: bytes) -> int:
    log = scenario.cluster.topics["t"].partitions[index].log
    log.append(batch(*values), 0, WALL_MS)
    return len(log.batches[-1].data)


def test_data_is_returned_at_once_with_the_offsets_around_it() -> None:
    scenario = Scenario(topics={"t": 2})
    size = _append(scenario, 0, b"a", b"b")
    found, empty = _data(scenario.connect(), _fetch(_asked(0, 1), _asked(1), max_wait_ms=500))
    assert (len(found.records or b""), found.high_watermark, found.last_stable_offset, found.log_start_offset) == (
        size, 2, 2, 0,
    )  # fmt: skip
    assert (empty.records, empty.high_watermark, empty.error_code) == (b"", 0, ErrorCode.NONE)


def test_a_fetch_waits_for_data_and_no_longer() -> None:
    scenario = Scenario(topics={"t": 2})
    client = scenario.connect()
    correlation_id = client.send(_fetch(_asked(0), _asked(1), max_wait_ms=500), VERSION)
    scenario.scheduler.advance(300)
    assert not client.frames
    size = _append(scenario, 1, b"v")
    response = client.take(FetchResponse, VERSION, correlation_id)
    assert [len(data.records or b"") for data in response.responses[0].partitions] == [0, size]
    assert scenario.scheduler.pending == 0
    assert scenario.cluster.topics["t"].partitions[0].log.watchers == 0


def test_a_fetch_waits_its_time_to_the_millisecond() -> None:
    scenario = Scenario(topics={"t": 1})
    client = scenario.connect()
    correlation_id = client.send(_fetch(_asked(0), max_wait_ms=500), VERSION)
    scenario.scheduler.advance(499)
    assert not client.frames
    scenario.scheduler.advance(1)
    assert client.take(FetchResponse, VERSION, correlation_id).responses[0].partitions[0].records == b""


def test_min_bytes_are_waited_for_and_what_there_is_comes_at_the_end() -> None:
    scenario = Scenario(topics={"t": 1})
    client = scenario.connect()
    size = _append(scenario, 0, b"v")
    correlation_id = client.send(_fetch(_asked(0), max_wait_ms=500, min_bytes=2 * size + 1), VERSION)
    _append(scenario, 0, b"v")
    assert not client.frames
    _append(scenario, 0, b"v")
    data = client.take(FetchResponse, VERSION, correlation_id).responses[0].partitions[0]
    assert len(data.records or b"") == 3 * size
    correlation_id = client.send(_fetch(_asked(0, 1), max_wait_ms=500, min_bytes=10_000), VERSION)
    scenario.scheduler.advance(500)
    data = client.take(FetchResponse, VERSION, correlation_id).responses[0].partitions[0]
    assert len(data.records or b"") == 2 * size


def test_an_error_does_not_wait() -> None:
    scenario = Scenario(nodes=2, topics={"t": 2})
    answers = _data(scenario.connect(), _fetch(_asked(0), _asked(1), max_wait_ms=500))
    assert [data.error_code for data in answers] == [ErrorCode.NONE, ErrorCode.NOT_LEADER_OR_FOLLOWER]


def test_limits_leave_at_least_one_batch() -> None:
    scenario = Scenario(topics={"t": 3})
    size = _append(scenario, 0, b"x" * 100)
    for index in (1, 2):
        _append(scenario, index, b"x" * 100)
    client = scenario.connect()

    def sizes(max_bytes: int, partition_max_bytes: int) -> list[int]:
        asked = [_asked(index, max_bytes=partition_max_bytes) for index in range(3)]
        return [len(data.records or b"") for data in _data(client, _fetch(*asked, max_bytes=max_bytes))]

    assert sizes(10_000, 10_000) == [size, size, size]
    assert sizes(1, 10_000) == [size, 0, 0]
    assert sizes(10_000, 1) == [size, 0, 0]
    assert sizes(2 * size, 10_000) == [size, size, 0]


@pytest.mark.parametrize("offset", [-5, 1, 4])
def test_offsets_out_of_range(offset: int) -> None:
    scenario = Scenario(topics={"t": 1})
    _append(scenario, 0, b"a", b"b", b"c")
    scenario.sandbox.delete_records("t", 0, 2)
    (data,) = _data(scenario.connect(), _fetch(_asked(0, offset)))
    assert (data.error_code, data.high_watermark) == (ErrorCode.OFFSET_OUT_OF_RANGE, -1)


def test_leader_epochs() -> None:
    scenario = Scenario(topics={"t": 1})
    scenario.sandbox.move_leader("t", 0, 1)
    _append(scenario, 0, b"v")
    client = scenario.connect()
    codes = [_data(client, _fetch(_asked(0, epoch=epoch)))[0].error_code for epoch in (-1, 0, 1, 2)]
    assert codes == [
        ErrorCode.NONE, ErrorCode.FENCED_LEADER_EPOCH, ErrorCode.NONE, ErrorCode.UNKNOWN_LEADER_EPOCH,
    ]  # fmt: skip


def test_a_waiting_fetch_ends_when_the_leader_moves() -> None:
    scenario = Scenario(nodes=2, topics={"t": 1})
    client = scenario.connect()
    correlation_id = client.send(_fetch(_asked(0), max_wait_ms=500), VERSION)
    scenario.sandbox.move_leader("t", 0, 2)
    data = client.take(FetchResponse, VERSION, correlation_id).responses[0].partitions[0]
    assert data.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER


def test_a_fetch_does_not_wait_on_account_of_what_does_not_exist_unless_there_is_nothing_else() -> None:
    scenario = Scenario(topics={"t": 1})
    client = scenario.connect()
    (alone,) = _data(client, _fetch(_asked(9), max_wait_ms=500))
    assert alone.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    correlation_id = client.send(_fetch(_asked(9), _asked(0), max_wait_ms=500), VERSION)
    assert not client.frames
    scenario.scheduler.advance(500)
    answers = client.take(FetchResponse, VERSION, correlation_id).responses[0].partitions
    assert [data.partition_index for data in answers] == [0, 9]


def test_topic_ids_and_leaders_in_new_versions() -> None:
    scenario = Scenario(nodes=2, topics={"t": 2})
    topics = [
        FetchTopic(topic_id=scenario.topic_id("t"), partitions=[_asked(1)]),
        FetchTopic(topic_id=b"\1" * 16, partitions=[_asked(0)]),
    ]
    response = scenario.connect().call(FetchRequest(topics=topics), FetchResponse, 17)
    moved, unknown = (topic.partitions[0] for topic in response.responses)
    assert (moved.error_code, moved.current_leader.leader_id) == (ErrorCode.NOT_LEADER_OR_FOLLOWER, 2)
    assert unknown.error_code == ErrorCode.UNKNOWN_TOPIC_ID
    assert [node.node_id for node in response.node_endpoints] == [2]


@pytest.mark.parametrize(("isolation", "aborted"), [(0, None), (1, [])])
def test_aborted_transactions_belong_to_read_committed(isolation: int, aborted: list[object] | None) -> None:
    (data,) = _data(Scenario(topics={"t": 1}).connect(), _fetch(_asked(0), isolation=isolation))
    assert data.aborted_transactions == aborted
