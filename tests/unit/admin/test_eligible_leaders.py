"""Who may lead partitions without a leader, page by page, as responses have it."""

from collections.abc import Iterator

import pytest

from kctl.client.admin.call import Results
from kctl.client.admin.elections import EligibleLeaders, eligible_leaders
from kctl.client.broker_errors import ErrorCode
from kctl.client.cluster import TopicPartition
from kctl.client.errors import BrokerError, RemoteProtocolError
from kctl.client.protocol.api.metadata import MetadataRequest
from kctl.client.protocol.api.topics import (
    Cursor,
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
    DescribeTopicPartitionsResponsePartition,
    DescribeTopicPartitionsResponseTopic,
)
from tests.unit.admin.test_call import call_with
from tests.unit.fake_network import SentRequest
from tests.unit.metadata_answers import answer


def page(
    topic: str, partition: int, further: Cursor | None = None, code: ErrorCode = ErrorCode.LEADER_NOT_AVAILABLE
) -> DescribeTopicPartitionsResponse:
    found = DescribeTopicPartitionsResponsePartition(
        error_code=code, partition_index=partition, eligible_leader_replicas=[2], last_known_elr=None
    )
    named = DescribeTopicPartitionsResponseTopic(name=topic, partitions=[found])
    return DescribeTopicPartitionsResponse(topics=[named], next_cursor=further)


Found = Results[TopicPartition, EligibleLeaders]


def ask(*pages: DescribeTopicPartitionsResponse) -> tuple[Found, list[DescribeTopicPartitionsRequest]]:
    """Return the results where brokers answer with these pages, and the requests."""
    left: Iterator[DescribeTopicPartitionsResponse] = iter(pages)
    asked: list[DescribeTopicPartitionsRequest] = []

    def take(sent: SentRequest) -> None:
        if isinstance(sent.request, MetadataRequest):
            sent.answer(answer())
            return
        assert isinstance(sent.request, DescribeTopicPartitionsRequest)
        asked.append(sent.request)
        sent.answer(next(left))

    results = eligible_leaders(call_with(take), ["b", "a"])
    return results, asked


def test_pages_are_asked_for_one_after_the_other() -> None:
    results, asked = ask(page("a", 0, Cursor(topic_name="b", partition_index=1)), page("b", 1))
    assert results.done == {
        TopicPartition("a", 0): EligibleLeaders((2,), ()),
        TopicPartition("b", 1): EligibleLeaders((2,), ()),
    }
    assert [[topic.name for topic in each.topics] for each in asked] == [["a", "b"], ["b"]]
    assert asked[1].cursor == Cursor(topic_name="b", partition_index=1)


def test_pages_that_do_not_move_on_are_refused() -> None:
    again = Cursor(topic_name="a", partition_index=0)
    with pytest.raises(RemoteProtocolError, match="does not advance"):
        ask(page("a", 0, again), page("a", 0, again), page("a", 0, again))


def test_partition_with_another_error_fails_alone() -> None:
    results, _ = ask(page("a", 0, code=ErrorCode.TOPIC_AUTHORIZATION_FAILED))
    assert results.done == {}
    assert isinstance(results.failed[TopicPartition("a", 0)], BrokerError)
