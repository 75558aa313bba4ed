"""Requests about partitions, sent to all leaders in parallel, and repeated after a leader has moved."""

from collections.abc import Callable, Iterable
from functools import partial
from typing import TypeVar

from kctl.client.admin.call import Call, Items, Results
from kctl.client.cluster import PartitionInfo, TopicPartition
from kctl.client.errors import KafkaError
from kctl.client.protocol.schema import Request, Response
from kctl.client.requests.leaders import Leaders, no_leader
from kctl.client.requests.retry import ADMIN_OFFSETS, Decision

V = TypeVar("V")
R = TypeVar("R", bound=Response)

Build = Callable[[dict[TopicPartition, PartitionInfo], int], Request]
"""Function that returns the request to a leader, from its partitions and the timeout in ms."""
Read = Callable[[R, int], Items[TopicPartition, V]]
"""Function that returns the items in a response of a node."""


def ask_leaders(
    call: Call,
    partitions: Iterable[TopicPartition],
    build: Build,
    read: Read[R, V],
    *,
    max_version: int | None = None,
    is_retried: Callable[[KafkaError, int], bool] = ADMIN_OFFSETS.is_retried,
) -> Results[TopicPartition, V]:
    keys = list(partitions)
    leaders = Leaders(call.client)
    metadata = call.client.metadata
    refreshed: set[TopicPartition] = set()
    """Partitions whose metadata was already refreshed because the leader had moved."""
    for topic, _ in keys:
        metadata.add_topic(topic)

    def attempt(pending: list[TopicPartition]) -> dict[TopicPartition, V | KafkaError]:
        if any(key.topic not in metadata.cluster.topics for key in pending):
            call.wait_until(
                lambda: all(key.topic in metadata.cluster.topics for key in pending), "waiting for the metadata"
            )
        found: dict[TopicPartition, V | KafkaError] = {}
        by_leader: dict[int, dict[TopicPartition, PartitionInfo]] = {}
        for key in pending:
            info = leaders.find(key)
            if info is None:
                found[key] = leaders.why_none(key) or no_leader(key)
            else:
                by_leader.setdefault(info.leader_id, {})[key] = info
        builds = {node_id: partial(build, infos) for node_id, infos in by_leader.items()}
        for node_id, answer in call.ask_nodes(builds, max_version=max_version).items():
            of_node = call.items(answer, by_leader[node_id], partial(_read_of, read, node_id))
            moved = [key for key, each in of_node.items() if _leads_elsewhere(each)]
            if isinstance(answer, KafkaError) or moved:
                leaders.refresh(elsewhere=not refreshed.isdisjoint(moved))
                refreshed.update(moved)
            found.update(of_node)
        return found

    return call.each(keys, attempt, is_retried)


def _leads_elsewhere(found: object) -> bool:
    return isinstance(found, KafkaError) and ADMIN_OFFSETS.decide(found) is Decision.LEADER


def _read_of(read: Read[R, V], node_id: int, response: R) -> Items[TopicPartition, V]:
    return read(response, node_id)
