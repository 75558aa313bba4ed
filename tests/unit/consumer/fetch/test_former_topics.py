"""FormerTopics: a position of a topic that was recreated is not read on in the present one."""

from typing import cast

from kctl.client.cluster import NO_EPOCH, NO_TOPIC_ID, TopicPartition
from kctl.client.consumer.events import Truncated
from kctl.client.consumer.fetch.former_topics import FormerTopics
from kctl.client.consumer.fetch.partition import FetchState
from kctl.client.consumer.fetch.reports import PartitionReports
from kctl.client.requests.leaders import Leaders
from tests.unit.consumer.fakes import Reports, config, rng

T0 = TopicPartition("t", 0)
OLD, NEW = b"o" * 16, b"n" * 16


class Named:
    """Stands for the leaders: what metadata says of the topic."""

    def __init__(self) -> None:
        self.id = OLD
        self.refreshes = 0

    def topic_id(self, topic: str) -> bytes:
        return self.id

    def refresh(self) -> None:
        self.refreshes += 1


class Scenario:
    def __init__(self) -> None:
        self.named, self.reports = Named(), Reports()
        leaders = cast(Leaders, self.named)
        self.former = FormerTopics(leaders, PartitionReports(config(), leaders, rng(), self.reports.append))


def test_recreated_topic_ends_the_position_once() -> None:
    scenario = Scenario()
    state = FetchState(1, 20)
    assert not scenario.former.has(T0, state)
    scenario.named.id = NEW
    assert scenario.former.has(T0, state)
    assert scenario.reports.take() == [Truncated(T0, 1, 20, -1, NO_EPOCH, is_recreated=True)]
    assert not scenario.former.has(T0, FetchState(2, 0)), "a position in the new topic"


def test_metadata_that_is_behind_is_not_a_recreation() -> None:
    scenario = Scenario()
    state = FetchState(1, 20)
    for topic_id in (OLD, NEW):
        scenario.named.id = topic_id
        scenario.former.has(T0, state)
    scenario.reports.clear()
    scenario.named.id = OLD
    later = FetchState(2, 5)
    assert scenario.former.has(T0, later)
    assert scenario.named.refreshes == 1
    assert not any(isinstance(each, Truncated) for each in scenario.reports.take())
    scenario.named.id = NEW
    assert not scenario.former.has(T0, later)


def test_position_at_the_start_and_brokers_without_ids_lose_nothing() -> None:
    scenario = Scenario()
    at_start, without_ids = FetchState(1, 0), FetchState(1, 20)
    assert not scenario.former.has(T0, at_start)
    scenario.named.id = NO_TOPIC_ID
    assert not scenario.former.has(T0, without_ids)
    scenario.named.id = NEW
    assert not scenario.former.has(T0, at_start)
    assert not scenario.former.has(T0, without_ids)


def test_positions_have_the_id_of_the_topic_that_was_read() -> None:
    scenario = Scenario()
    read, unread, other = FetchState(1, 20), FetchState(1, 0), TopicPartition("t", 1)
    assert scenario.former.ids_of([(T0, None), (other, unread)]) == {"t": OLD}
    scenario.former.has(T0, read)
    scenario.named.id = NEW
    assert scenario.former.ids_of([(other, unread)]) == {"t": NEW}
    for states in ([(T0, read), (other, unread)], [(other, unread), (T0, read)]):
        assert scenario.former.ids_of(states) == {"t": OLD}, "nothing of the topic is committed to the present one"
    scenario.named.id = NO_TOPIC_ID
    assert scenario.former.ids_of([(T0, read)]) == {"t": OLD}
    assert scenario.former.ids_of([(T0, None)]) == {}
