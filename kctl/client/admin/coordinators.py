"""Coordinators for one call, found by FindCoordinator, and found again after they have moved."""

from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import TypeVar

from kctl.client.admin.call import Build as BuildRequest
from kctl.client.admin.call import Call, Items, Results, any_node
from kctl.client.cluster import Node
from kctl.client.cluster_client import ClusterClient
from kctl.client.errors import ApiTimeout, BrokerError, KafkaError, RequestTimeout, TransportError
from kctl.client.network.in_flight import Answer
from kctl.client.protocol.api.find_coordinator import FindCoordinatorResponse
from kctl.client.protocol.schema import Request, Response
from kctl.client.protocol.versions import NodeVersions
from kctl.client.requests.find_coordinator import KeyType, coordinators_in, find_coordinator
from kctl.client.requests.retry import ADMIN_GROUPS, Decision

K = TypeVar("K")
V = TypeVar("V")
R = TypeVar("R", bound=Response)

Build = Callable[[int, list[str]], Request]
"""Function that returns the request to a node about groups that it coordinates."""
Follow = Callable[[Response], Request | None]
"""Function that returns the next request about the groups of a response, or None."""
Read = Callable[[Answer | KafkaError, list[str]], Mapping[str, V | KafkaError]]
"""Function that returns the outcome of each group, from a response or from the error of a node."""


class Coordinators:
    """Coordinators of groups, or of transactional ids, which then replace the group ids."""

    def __init__(self, call: Call, key_type: KeyType = KeyType.GROUP) -> None:
        self._call = call
        self._key_type = key_type
        self._found: dict[str, int] = {}

    def node(self, group_id: str) -> Node | None:
        return self._call.client.metadata.cluster.node(self._found.get(group_id, -1))

    def each_group(
        self,
        group_ids: Iterable[str],
        build: Build,
        read: Callable[[R], Items[str, V]],
        *,
        max_version: int | None = None,
        most: int | None = None,
        follow: Follow | None = None,
    ) -> Results[str, V]:
        """Query all coordinators in parallel, with retries; return the outcome of each group.

        Args: most: maximum number of groups in a request; None for no limit.
        """

        def attempt(pending: list[str]) -> dict[str, V | KafkaError]:
            return self._ask(
                pending, build, lambda answer, groups: self._call.items(answer, groups, read), max_version, most, follow
            )

        return self._call.each(group_ids, attempt, ADMIN_GROUPS.is_retried)

    def each_item(
        self,
        group_id: str,
        keys: Iterable[K],
        build: Callable[[list[K]], Request],
        read: Callable[[R], Items[K, V]],
        *,
        max_version: int | None = None,
    ) -> Results[K, V]:
        """Query the coordinator; return the outcome of each item. An error of the group applies to every item."""

        def attempt(pending: list[K]) -> Mapping[K, V | KafkaError]:
            answers = self._ask(
                [group_id],
                lambda _node_id, _groups: build(pending),
                lambda answer, _groups: {group_id: self._call.items(answer, pending, read)},
                max_version,
            )
            fates = answers[group_id]
            if isinstance(fates, KafkaError):
                return dict.fromkeys(pending, fates)
            for fate in fates.values():
                self._learn(group_id, fate)
            return fates

        return self._call.each(keys, attempt, ADMIN_GROUPS.is_retried)

    def _ask(
        self,
        group_ids: list[str],
        build: Build,
        read: Read[V],
        max_version: int | None = None,
        most: int | None = None,
        follow: Follow | None = None,
    ) -> dict[str, V | KafkaError]:
        fates: dict[str, V | KafkaError] = dict(self._find(group_ids))
        by_node: dict[int, list[str]] = {}
        for group_id in group_ids:
            if group_id not in fates:
                by_node.setdefault(self._found[group_id], []).append(group_id)
        parts = {node_id: _parts(groups, most or len(groups)) for node_id, groups in by_node.items()}

        def take(answer: Answer | KafkaError, groups: list[str]) -> None:
            fates.update(read(answer, groups))
            for group_id in groups:
                self._learn(group_id, answer if isinstance(answer, KafkaError) else fates[group_id])

        def further(answer: Answer) -> BuildRequest | None:
            assert answer.response is not None
            request = None if follow is None else follow(answer.response)
            if request is not None:
                return lambda _timeout_ms: request
            left = parts[answer.node_id]
            if len(left) == 1:
                return None
            take(answer, left.popleft())
            return partial(_build_for, build, answer.node_id, left[0])

        builds = {node_id: partial(_build_for, build, node_id, left[0]) for node_id, left in parts.items()}
        answers: Mapping[int, Answer | KafkaError]
        try:
            answers = self._call.ask_nodes(builds, max_version=max_version, follow=further)
        except ApiTimeout as timeout:
            if not fates:
                raise
            answers = dict.fromkeys(builds, timeout)
        for node_id, answer in answers.items():
            for groups in parts[node_id]:  # several after an error
                take(answer, groups)
        return fates

    def _learn(self, group_id: str, fate: object) -> None:
        has_moved = isinstance(fate, BrokerError) and ADMIN_GROUPS.decide(fate) is Decision.COORDINATOR
        if has_moved or isinstance(fate, TransportError | RequestTimeout):
            self._found.pop(group_id, None)

    # --- the look-up ------------------------------------------------------------------------------------------------

    def _find(self, group_ids: Sequence[str]) -> dict[str, KafkaError]:
        failed: dict[str, KafkaError] = {}
        missing = [group_id for group_id in group_ids if group_id not in self._found]
        while missing:
            answers = look_up(self._call, self._key_type, missing)
            for group_id, found in answers.items():
                if isinstance(found, Node):
                    self._found[group_id] = found.node_id
                else:
                    failed[group_id] = found
            missing = [group_id for group_id in missing if group_id not in answers]
        return failed


def coordinator_of(call: Call, key_type: KeyType, key: str) -> int:
    results = call.each([key], lambda keys: look_up(call, key_type, keys), ADMIN_GROUPS.is_retried)
    return results[key].node_id


def look_up(call: Call, key_type: KeyType, keys: Sequence[str]) -> dict[str, Node | KafkaError]:
    """Return the coordinators of all keys, or only of the first if the broker accepts one key per request."""
    versions: NodeVersions | None = None

    def route(client: ClusterClient) -> int | None:
        nonlocal versions
        node_id = any_node(client)
        versions = None if node_id is None else client.network.versions(node_id)
        return node_id

    answer = call.answer_of(
        route,
        lambda _timeout_ms: find_coordinator(key_type, keys, versions),
        FindCoordinatorResponse,
        is_for_any=True,
    )
    assert isinstance(answer.response, FindCoordinatorResponse)
    return coordinators_in(answer.response, key_type, keys, call.name_of(answer.node_id))


def _parts(groups: list[str], most: int) -> deque[list[str]]:
    return deque(groups[at : at + most] for at in range(0, len(groups), most))


def _build_for(build: Build, node_id: int, groups: list[str], _timeout_ms: int) -> Request:
    return build(node_id, groups)
