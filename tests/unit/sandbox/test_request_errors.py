"""Requests that are ordered to fail: with which code, how often, and without being carried out."""

from collections.abc import Iterator

import pytest

from kctl.client.broker_errors import ErrorCode
from kctl.client.protocol.api.consumer_groups import ConsumerGroupDescribeRequest, ConsumerGroupDescribeResponse
from kctl.client.protocol.api.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic
from kctl.client.protocol.api.produce import PartitionProduceData, ProduceRequest, ProduceResponse, TopicProduceData
from kctl.client.protocol.schema import Request, Response, Struct
from kctl.sandbox.apis import HANDLERS
from kctl.sandbox.error_answers import error_answer, has_error_code
from kctl.sandbox.faults import Fault
from kctl.sandbox.triggers import MAX_FAILURES
from tests.unit.sandbox.apis.test_every_version import EVERY_VERSION, content_request
from tests.unit.sandbox.scenario import Scenario, batch

CODE = ErrorCode.COORDINATOR_NOT_AVAILABLE
FAILING = [(key, version) for key, version in EVERY_VERSION if has_error_code(HANDLERS[key].request)]
BY_ITEM = (0, 2, 8, 15, 19, 20, 21, 23, 28, 32, 33, 34, 42, 61, 65, 69)
"""Numbers of APIs whose responses have a code for each requested item, and no other."""


def _codes(message: Struct) -> Iterator[int]:
    for one in message.FIELDS:
        value = getattr(message, one.name)
        if one.name in ("error_code", "partition_error_code"):
            yield value
        elif isinstance(value, list):
            for item in value:
                if isinstance(item, Struct):
                    yield from _codes(item)


@pytest.mark.parametrize(("key", "version"), FAILING)
def test_every_api_says_so_for_all_that_was_asked(key: int, version: int) -> None:
    scenario = Scenario(nodes=2, topics={"t": 2})
    client = scenario.connect()
    request = content_request(scenario, key, version)
    usual = client.call(request, request.RESPONSE, version) if key in BY_ITEM else None
    scenario.sandbox.fail_requests(request.NAME, CODE)
    failed = client.call(request, request.RESPONSE, version)
    codes = [code for code in _codes(failed) if code != ErrorCode.NONE]
    assert codes
    # An unknown partition of a fetch keeps its own error.
    assert set(codes) == ({CODE, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION} if key == 1 else {CODE})
    if usual is not None:
        assert len(codes) == len(list(_codes(usual)))


def test_nothing_is_carried_out_and_then_all_is_as_before() -> None:
    scenario = Scenario(topics={"t": 1})
    client = scenario.connect()
    scenario.sandbox.fail_requests("Produce", ErrorCode.NOT_LEADER_OR_FOLLOWER, times=2)
    data = [PartitionProduceData(index=0, records=batch(b"v"))]
    request = ProduceRequest(acks=-1, topic_data=[TopicProduceData(name="t", partition_data=data)])
    answers = [client.call(request, ProduceResponse, 9).responses[0].partition_responses[0] for _ in range(3)]
    assert [(answer.error_code, answer.base_offset) for answer in answers] == [
        (ErrorCode.NOT_LEADER_OR_FOLLOWER, -1), (ErrorCode.NOT_LEADER_OR_FOLLOWER, -1), (ErrorCode.NONE, 0),
    ]  # fmt: skip
    assert scenario.sandbox.end_offset("t", 0) == 1


def test_a_name_that_is_too_long_to_repeat_fails_its_request_alone() -> None:
    scenario = Scenario()
    client = scenario.connect()
    asked = [ConsumerGroupDescribeRequest(group_ids=[size * "g"]) for size in (32_767, 10)]
    groups = [client.call(request, ConsumerGroupDescribeResponse, 1).groups[0] for request in asked]
    codes = [group.error_code for group in groups]
    assert codes == [ErrorCode.UNKNOWN_SERVER_ERROR, ErrorCode.GROUP_ID_NOT_FOUND]


def test_a_producer_that_wants_no_answer_gets_none() -> None:
    scenario = Scenario(topics={"t": 1})
    client = scenario.connect()
    scenario.sandbox.fail_requests("Produce", CODE)
    data = [PartitionProduceData(index=0, records=batch(b"v"))]
    client.send(ProduceRequest(acks=0, topic_data=[TopicProduceData(name="t", partition_data=data)]), 9)
    assert not client.frames
    assert scenario.sandbox.end_offset("t", 0) == 0


def test_a_fetch_that_waits_in_a_session_fails_for_each_of_its_partitions() -> None:
    scenario = Scenario(topics={"t": 2})
    client = scenario.connect()
    asked = [FetchPartition(partition=index, partition_max_bytes=100) for index in (0, 1)]
    opened = client.call(
        FetchRequest(session_epoch=0, topics=[FetchTopic(topic="t", partitions=asked)]), FetchResponse, 12
    )
    again = FetchRequest(session_id=opened.session_id, session_epoch=1, max_wait_ms=500, min_bytes=1)
    scenario.sandbox.fail_requests("Fetch", ErrorCode.NOT_LEADER_OR_FOLLOWER)
    failed = client.call(again, FetchResponse, 12)
    assert (failed.error_code, [data.error_code for data in failed.responses[0].partitions]) == (
        ErrorCode.NONE, [ErrorCode.NOT_LEADER_OR_FOLLOWER] * 2,
    )  # fmt: skip
    scenario.sandbox.fail_requests("Fetch", ErrorCode.FETCH_SESSION_ID_NOT_FOUND)
    again.session_epoch = 2
    assert client.call(again, FetchResponse, 12).error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND


def test_of_one_node_or_of_all_and_healed() -> None:
    scenario = Scenario(nodes=3, topics={"t": 1})
    scenario.sandbox.fail_requests("OffsetFetch", CODE, times=5)
    scenario.sandbox.fail_requests("OffsetFetch", CODE, times=5, node_id=2)
    scenario.sandbox.heal(1)
    taken = [sum(node.faults.pop_error(9) is CODE for _ in range(20)) for node in scenario.cluster.nodes.values()]
    assert taken == [0, 10, 5]


@pytest.mark.parametrize("api", ["Nothing", "fetch", ""])
def test_only_apis_that_are_served_fail(api: str) -> None:
    with pytest.raises(ValueError, match=r"cannot fail requests of .*: use one of AddOffsetsToTxn, "):
        Scenario().sandbox.fail_requests(api, CODE)


@pytest.mark.parametrize("times", [0, -1, MAX_FAILURES + 1])
def test_counts_have_bounds(times: int) -> None:
    with pytest.raises(ValueError, match=f"1 to {MAX_FAILURES}"):
        Scenario().sandbox.fail_requests("Fetch", CODE, times=times)


def test_an_api_without_error_codes_has_no_error_answer() -> None:
    class OddResponse(Response, api_key=999, versions=(0, 1), flexible_from=1):
        """Without an error code."""

    class OddRequest(Request, response=OddResponse):
        """Its request."""

    with pytest.raises(ValueError, match="Odd has no error code"):
        error_answer(OddRequest(), 1, CODE)


def test_lost_answers_of_requests_that_were_carried_out() -> None:
    scenario = Scenario(topics={"t": 1})
    client = scenario.connect()
    data = [PartitionProduceData(index=0, records=batch(b"v"))]
    request = ProduceRequest(acks=-1, topic_data=[TopicProduceData(name="t", partition_data=data)])
    scenario.sandbox.start_fault(1, Fault.DROP_RESPONSES)
    client.send(request, 9)
    assert (scenario.sandbox.end_offset("t", 0), client.frames) == (1, [])
    scenario.sandbox.heal()
    client.send(request, 9)
    assert (scenario.sandbox.end_offset("t", 0), client.frames) == (2, []), "answers stay in order: none follows"
    assert scenario.connect().call(request, ProduceResponse, 9).responses[0].partition_responses[0].base_offset == 2
