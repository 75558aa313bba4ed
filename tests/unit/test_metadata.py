from collections.abc import Sequence
from random import Random
from typing import Any

import pytest

from kctl.client.backoff import ExponentialBackoff
from kctl.client.broker_errors import ErrorCode
from kctl.client.clock import FOREVER_MS
from kctl.client.cluster import NO_NODE, NamedLeader, Node, TopicInfo, TopicPartition
from kctl.client.errors import ConnectionLost
from kctl.client.metadata import Metadata, _twice, malformed_metadata
from kctl.client.protocol.api.metadata import MetadataRequest, MetadataResponse, MetadataResponseBroker
from tests.unit.metadata_answers import answer, leader, leaderless, topic

MAX_AGE_MS = 300_000
OLD_ID, NEW_ID = b"\1" * 16, b"\2" * 16


def new_metadata(*topics: str, auto_create: bool = False) -> Metadata:
    """100 ms back-off, doubling to 1 s, without jitter."""
    backoff = ExponentialBackoff(100, 1000, Random(1), jitter=0.0)
    metadata = Metadata(max_age_ms=MAX_AGE_MS, backoff=backoff, auto_create_topics=auto_create)
    metadata.want_topics(topics)
    return metadata


def names(request: MetadataRequest) -> list[str | None] | None:
    return None if request.topics is None else [entry.name for entry in request.topics]


def test_asks_nothing_until_something_is_wanted() -> None:
    metadata = new_metadata()
    assert metadata.due_at_ms() == FOREVER_MS
    metadata.add_topic("t")
    assert metadata.due_at_ms() == 0


def test_a_new_topic_is_asked_for_alone_and_the_rest_is_kept() -> None:
    metadata = new_metadata("a")
    assert names(metadata.begin(0)) == ["a"]
    assert metadata.apply(answer(topic("a", leader(0, 1))), 0)
    metadata.add_topic("b")
    assert metadata.due_at_ms() == 0
    assert names(metadata.begin(10)) == ["b"]
    assert metadata.apply(answer(topic("b", leader(0, 2))), 10)
    assert list(metadata.cluster.topics) == ["a", "b"]
    assert metadata.version == 2


def test_everything_of_interest_is_refreshed_when_it_is_too_old() -> None:
    metadata = new_metadata("a", "b")
    metadata.begin(0)
    metadata.apply(answer(topic("a", leader(0, 1)), topic("b", leader(0, 1))), 0)
    metadata.request_update()
    metadata.begin(100)
    metadata.apply(answer(topic("a", leader(0, 1)), topic("b", leader(0, 1))), 100)
    assert metadata.due_at_ms() == 100 + MAX_AGE_MS
    assert names(metadata.begin(100 + MAX_AGE_MS)) == ["a", "b"]


def test_a_refresh_asked_for_while_one_is_under_way_follows_it() -> None:
    metadata = new_metadata("a")
    metadata.begin(0)
    metadata.request_update()
    metadata.apply(answer(topic("a", leader(0, 1))), 5)
    assert metadata.due_at_ms() == 105  # one back-off between any two refreshes


def test_back_off_doubles_while_a_topic_has_no_leader_and_starts_afresh_after() -> None:
    metadata = new_metadata("a")
    now_ms, gaps = 0, []
    for _ in range(6):
        metadata.begin(now_ms)
        metadata.apply(answer(topic("a", leaderless(0))), now_ms)
        gaps.append(metadata.due_at_ms() - now_ms)
        now_ms = metadata.due_at_ms()
    assert gaps == [100, 200, 400, 800, 1000, 1000]
    metadata.begin(now_ms)
    metadata.apply(answer(topic("a", leader(0, 1))), now_ms)
    metadata.request_update()
    assert metadata.due_at_ms() - now_ms == 100


def test_failures_back_off_and_are_remembered_until_a_success() -> None:
    metadata = new_metadata("a")
    lost = ConnectionLost("gone")
    metadata.begin(0)
    metadata.failed(lost, 7)
    assert metadata.last_error is lost
    assert metadata.due_at_ms() == 107
    metadata.begin(107)
    metadata.failed(lost, 110)
    assert metadata.failing_since_ms == 7
    assert metadata.due_at_ms() == 310
    metadata.begin(310)
    assert metadata.apply(answer(topic("a", leader(0, 1))), 311)
    assert [metadata.last_error, metadata.failing_since_ms] == [None, None]


def test_response_that_has_something_twice_is_a_failure() -> None:
    for name in ("brokers", "topics", "partitions"):
        metadata = new_metadata("t")
        metadata.begin(0)
        response = answer(topic("t", leader(0, 1)))
        items = response.topics[0].partitions if name == "partitions" else getattr(response, name)
        items.append(items[0])
        assert not metadata.apply(response, 0)
        assert "twice" in str(metadata.last_error)


def test_an_answer_without_brokers_or_with_an_error_is_a_failure() -> None:
    metadata = new_metadata("a")
    metadata.begin(0)
    assert not metadata.apply(answer(topic("a"), nodes=()), 0)
    assert "no broker" in str(metadata.last_error)
    metadata.begin(100)
    assert not metadata.apply(answer(error=ErrorCode.REBOOTSTRAP_REQUIRED), 100)
    assert metadata.version == 0


def test_an_older_leader_epoch_never_replaces_a_newer_one() -> None:
    metadata = new_metadata("a")
    metadata.begin(0)
    metadata.apply(answer(topic("a", leader(0, 2, epoch=5), topic_id=OLD_ID)), 0)
    metadata.begin(0)
    metadata.apply(answer(topic("a", leader(0, 1, epoch=4), topic_id=OLD_ID)), 0)
    assert metadata.cluster.leader_id("a", 0) == 2
    metadata.begin(0)
    metadata.apply(answer(topic("a", leader(0, 1, epoch=6), topic_id=OLD_ID)), 0)
    assert metadata.cluster.leader_id("a", 0) == 1


def test_a_topic_made_anew_starts_its_epochs_anew() -> None:
    metadata = new_metadata("a")
    metadata.begin(0)
    metadata.apply(answer(topic("a", leader(0, 2, epoch=5), topic_id=OLD_ID)), 0)
    metadata.begin(0)
    metadata.apply(answer(topic("a", leader(0, 1, epoch=0), topic_id=NEW_ID)), 0)
    info = metadata.cluster.partition("a", 0)
    assert info is not None
    assert (info.leader_id, info.leader_epoch) == (1, 0)


def test_topic_errors_are_kept_with_the_topic() -> None:
    metadata = new_metadata("secret", "odd", "none")
    metadata.begin(0)
    metadata.apply(
        answer(
            topic("secret", error=ErrorCode.TOPIC_AUTHORIZATION_FAILED),
            topic("odd", error=ErrorCode.INVALID_TOPIC_EXCEPTION),
            topic("none", error=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ),
        0,
    )
    errors = {name: info.error.name if info.error else "" for name, info in metadata.cluster.topics.items()}
    assert errors == {
        "secret": "TOPIC_AUTHORIZATION_FAILED",
        "odd": "INVALID_TOPIC_EXCEPTION",
        "none": "UNKNOWN_TOPIC_OR_PARTITION",
    }
    assert metadata.due_at_ms() == 100  # the unknown one may yet come; the others alone would wait for their age


def test_a_leader_that_nobody_could_dial_is_no_leader() -> None:
    metadata = new_metadata("a")
    metadata.begin(0)
    metadata.apply(answer(topic("a", leader(0, 9)), nodes=(1,)), 0)
    assert metadata.cluster.leader_id("a", 0) == NO_NODE
    assert metadata.due_at_ms() == 100


def test_topics_no_longer_wanted_are_forgotten() -> None:
    metadata = new_metadata("a", "b")
    metadata.begin(0)
    metadata.apply(answer(topic("a", leader(0, 1)), topic("b", leader(0, 1))), 0)
    metadata.want_topics(["b"])
    assert list(metadata.cluster.topics) == ["b"]
    assert names(metadata.begin(MAX_AGE_MS)) == ["b"]


def test_all_topics_are_asked_for_with_null_and_kept() -> None:
    metadata = new_metadata()
    metadata.want_all_topics()
    assert names(metadata.begin(0)) is None
    metadata.apply(answer(topic("a", leader(0, 1)), topic("b", leader(0, 1))), 0)
    assert list(metadata.cluster.topics) == ["a", "b"]


UNKNOWN = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_missing_topic_is_not_created_unless_that_is_allowed() -> None:
    metadata = new_metadata("a")
    for now_ms in (0, 1000):
        assert not metadata.begin(now_ms).allow_auto_topic_creation
        metadata.apply(answer(topic("a", error=UNKNOWN)), now_ms)
    assert metadata.created_topics == {}


def test_topic_is_asked_for_without_creation_first_then_created_at_once() -> None:
    metadata = new_metadata("a", auto_create=True)
    assert not metadata.begin(0).allow_auto_topic_creation
    metadata.apply(answer(topic("a", error=UNKNOWN)), 0)
    assert metadata.due_at_ms() == 0
    request = metadata.begin(0)
    assert (request.allow_auto_topic_creation, names(request)) == (True, ["a"])
    metadata.apply(answer(topic("a", error=UNKNOWN)), 5)
    assert metadata.due_at_ms() == 105
    assert metadata.begin(105).allow_auto_topic_creation
    metadata.apply(answer(topic("a", leader(0, 1), leader(1, 2))), 110)
    assert metadata.created_topics == {"a": 2}


def test_topic_that_exists_is_not_reported_as_created() -> None:
    metadata = new_metadata("a", auto_create=True)
    metadata.begin(0)
    metadata.apply(answer(topic("a", leaderless(0))), 0)
    assert not metadata.begin(100).allow_auto_topic_creation
    metadata.apply(answer(topic("a", leader(0, 1))), 100)
    assert metadata.created_topics == {}


def test_new_topic_is_asked_for_before_a_missing_one_is_created() -> None:
    metadata = new_metadata("a", auto_create=True)
    metadata.begin(0)
    metadata.apply(answer(topic("a", error=UNKNOWN)), 0)
    metadata.add_topic("b")
    request = metadata.begin(0)
    assert (request.allow_auto_topic_creation, "b" in (names(request) or [])) == (False, True)
    metadata.apply(answer(topic("a", error=UNKNOWN), topic("b", leader(0, 1))), 5)
    assert metadata.begin(5).allow_auto_topic_creation
    metadata.apply(answer(topic("a", leader(0, 1)), topic("b", leader(0, 1))), 10)
    assert metadata.created_topics == {"a": 1}


def test_creation_that_failed_is_asked_for_again() -> None:
    metadata = new_metadata("a", auto_create=True)
    metadata.begin(0)
    metadata.apply(answer(topic("a", error=UNKNOWN)), 0)
    assert metadata.begin(0).allow_auto_topic_creation
    metadata.failed(ConnectionLost("gone"), 5)
    assert metadata.due_at_ms() == 105
    assert metadata.begin(105).allow_auto_topic_creation


def test_rebootstrap_forgets_nodes_and_leaders_but_no_epoch() -> None:
    metadata = new_metadata("a")
    metadata.begin(0)
    metadata.apply(answer(topic("a", leader(0, 2, epoch=5))), 0)
    metadata.rebootstrapped()
    assert metadata.cluster.nodes == {}
    assert metadata.cluster.leader_id("a", 0) == NO_NODE
    assert metadata.due_at_ms() == 0
    metadata.begin(1)
    metadata.apply(answer(topic("a", leader(0, 1, epoch=4))), 1)
    assert metadata.cluster.leader_id("a", 0) == NO_NODE


A0 = TopicPartition("a", 0)
NODE_9 = Node(9, "host9", 9092)


def knowing(leader_epoch: int) -> Metadata:
    metadata = new_metadata("a")
    metadata.begin(0)
    metadata.apply(answer(topic("a", leader(0, 1, epoch=leader_epoch), leader(1, 1))), 0)
    return metadata


def learns(metadata: Metadata, tp: TopicPartition, node_id: int, epoch: int, nodes: Sequence[Node]) -> bool:
    return metadata.learn_leaders({tp: NamedLeader(node_id, epoch)}, nodes) == [tp]


def test_leaders_of_one_response_make_one_new_snapshot(monkeypatch: pytest.MonkeyPatch) -> None:
    metadata = new_metadata("a")
    metadata.begin(0)
    metadata.apply(answer(topic("a", *(leader(number, 1, epoch=5) for number in range(20)))), 0)
    before, replaced, replace = metadata.cluster, list[TopicInfo](), TopicInfo._replace

    def note(info: TopicInfo, **given: Any) -> TopicInfo:
        replaced.append(info)
        return replace(info, **given)

    monkeypatch.setattr(TopicInfo, "_replace", note)
    named = {TopicPartition("a", number): NamedLeader(9, 6) for number in range(20)}
    assert metadata.learn_leaders(named, [NODE_9]) == list(named)
    assert {metadata.cluster.leader_id("a", number) for number in range(20)} == {9}
    assert {before.leader_id("a", number) for number in range(20)} == {1}
    assert len(replaced) == 1


def test_a_leader_that_an_answer_names_is_used_at_once_with_its_address() -> None:
    metadata = knowing(5)
    assert learns(metadata, A0, 9, 6, [NODE_9])
    info = metadata.cluster.partition("a", 0)
    assert info is not None
    assert (info.leader_id, info.leader_epoch, info.error) == (9, 6, None)
    assert metadata.cluster.node(9) == NODE_9
    assert metadata.cluster.leader_id("a", 1) == 1
    metadata.request_update()
    metadata.begin(1)
    metadata.apply(answer(topic("a", leader(0, 1, epoch=5), leader(1, 1))), 1)
    assert metadata.cluster.leader_id("a", 0) != 1, "older than what was learnt"


def test_a_leader_that_is_no_news_or_has_no_address_is_not_taken() -> None:
    metadata = knowing(5)
    assert not learns(metadata, A0, 9, 5, [NODE_9])
    assert not learns(metadata, A0, 9, 4, [NODE_9])
    assert not learns(metadata, A0, 9, 6, [])
    assert not learns(metadata, TopicPartition("a", 7), 9, 6, [NODE_9])
    assert not learns(metadata, TopicPartition("z", 0), 9, 6, [NODE_9])
    assert metadata.cluster.leader_id("a", 0) == 1
    metadata.rebootstrapped()
    assert not learns(metadata, A0, 9, 9, [NODE_9]), "brokers are being learnt anew"


def test_a_named_leader_that_moved_house_is_dialled_where_it_is_now() -> None:
    metadata = knowing(5)
    assert learns(metadata, A0, 1, 6, [Node(1, "elsewhere", 9092)])
    assert metadata.cluster.nodes[1].host == "elsewhere"


def test_a_host_with_control_characters_is_malformed() -> None:
    response = MetadataResponse(brokers=[MetadataResponseBroker(node_id=1, host="h\nkctl: fake", port=9092)])
    error = malformed_metadata(response)
    assert str(error) == "the Metadata response contains the invalid host h\\x0akctl: fake for broker 1"


def test_partition_that_appears_twice_is_found_in_linear_time() -> None:
    """A quadratic search compares half a million partitions for hours."""
    compared = 0

    class Counted(int):
        def __eq__(self, other: object) -> bool:
            nonlocal compared
            compared += 1
            return int.__eq__(self, other)

        __hash__ = int.__hash__

    keys = [*map(Counted, range(5000)), Counted(4999)]
    assert _twice("partition", keys) == "partition 4999"
    assert compared < 20_000
    assert _twice("partition", keys[:-1]) is None


def test_response_with_more_brokers_than_any_cluster_has_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kctl.client.metadata.MOST_BROKERS", 3)
    brokers = [MetadataResponseBroker(node_id=number, host="h", port=1) for number in range(4)]
    assert malformed_metadata(MetadataResponse(brokers=brokers[:3])) is None
    assert "contains 4 brokers, more than 3" in str(malformed_metadata(MetadataResponse(brokers=brokers)))
