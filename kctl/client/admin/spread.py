"""Requests that any broker can handle.

Long lists are sent in parts to several brokers in parallel, because each broker handles requests one by one. A broker
whose metadata is behind does not know the newest topics, so another broker is queried about them.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TypeVar

from kctl.client.admin.call import Build, Call, Items
from kctl.client.cluster import Node
from kctl.client.cluster_client import ClusterClient
from kctl.client.errors import ApiTimeout, BrokerError, KafkaError, RemoteProtocolError
from kctl.client.network.in_flight import Answer
from kctl.client.protocol.schema import Response
from kctl.client.requests.retry import UNKNOWN_TOPIC

K = TypeVar("K")
V = TypeVar("V")
R = TypeVar("R", bound=Response)

PART_ITEMS = 100
"""Maximum number of items in a request. A list that fits goes to one broker."""
MOST_BROKERS = 8
"""Maximum number of requests in flight, each to a different broker."""
MOMENT_MS = 100
"""Maximum wait for a connection to another broker."""


def is_unknown_topic(outcome: object) -> bool:
    return isinstance(outcome, BrokerError) and outcome.code in UNKNOWN_TOPIC


class BrokersBehind:
    """Brokers that did not know a topic. A call uses them again only if no other broker is connected."""

    def __init__(self, call: Call) -> None:
        self._client = call.client
        self._timer = call.timer
        self._nodes: set[Node] = set()

    def note(self, node_id: int, outcomes: Iterable[object]) -> None:
        if any(is_unknown_topic(each) for each in outcomes):
            self._nodes.add(self._client.network.node(node_id))

    def connect_another(self) -> None:
        """If a broker is behind, wait at most MOMENT_MS for a connection to another broker."""
        if not self._nodes:
            return
        network, metadata = self._client.network, self._client.metadata
        if not metadata.cluster.nodes:
            metadata.request_update()
        moment = self._timer.sub(MOMENT_MS)
        with self._client.steps:
            while moment.not_expired and not self._are_all() and network.any_ready_node(avoid=self._ids()) is None:
                self._client.poll(moment.deadline_at_ms)
                moment.update()

    def route(self, client: ClusterClient) -> int | None:
        node = self.ready_node(client)
        return None if node is None else node.node_id

    def ready_node(self, client: ClusterClient, busy: tuple[int, ...] = ()) -> Node | None:
        """Return a ready broker that is not busy; a broker that is behind is the last resort."""
        ids = self._ids()
        has_others = client.network.any_ready_node(avoid=ids) is not None
        return client.network.any_ready_node(avoid=(*busy, *ids) if has_others else busy)

    def _are_all(self) -> bool:
        nodes = self._client.metadata.cluster.nodes
        return bool(nodes) and nodes.keys() <= set(self._ids())

    def _ids(self) -> tuple[int, ...]:
        places = {(each.host, each.port) for each in self._nodes}
        known = [*self._nodes, *self._client.metadata.cluster.nodes.values()]
        return tuple({each.node_id for each in known if (each.host, each.port) in places})


def ask_brokers(
    call: Call,
    keys: Sequence[K],
    build: Callable[[Sequence[K]], Build],
    response_type: type[R],
    read: Callable[[R], Items[K, V]],
    behind: BrokersBehind,
) -> dict[K, V | KafkaError]:
    """Return the outcome of each item, as `Call.ask_items` does with any node.

    If a broker fails, another broker gets its part. At the deadline, only the items without a response fail. If all do,
    the call raises.
    """
    if len(keys) <= PART_ITEMS:
        answer = call.answer_of(behind.route, build(keys), response_type, is_for_any=True)
        short = call.items(answer, keys, read)
        behind.note(answer.node_id, short.values())
        behind.connect_another()
        return short
    found: dict[K, V | KafkaError] = {}
    unsent = [keys[at : at + PART_ITEMS] for at in range(0, len(keys), PART_ITEMS)]
    in_flight: dict[int, Sequence[K]] = {}
    failures: list[KafkaError] = []
    if not call.client.metadata.cluster.nodes:
        call.client.metadata.request_update()

    def keep(node_id: int, answer: Answer) -> None:
        part = in_flight.pop(node_id)
        if isinstance(answer.response, response_type):
            items = call.items(answer, part, read)
            behind.note(answer.node_id, items.values())
            found.update(items)
        else:
            unsent.append(part)
            missing = RemoteProtocolError(f"no response while {call.what}", api=response_type.NAME)
            failures.append(answer.error or missing)

    def step() -> bool:
        while unsent and not failures and len(in_flight) < MOST_BROKERS:
            node = behind.ready_node(call.client, tuple(in_flight))
            if node is None:
                break
            in_flight[node.node_id] = part = unsent.pop(0)
            call.send(node.node_id, build(part), partial(keep, node.node_id), is_for_any=True)
        return not in_flight and (not unsent or bool(failures))

    try:
        while unsent:
            call.wait_until(step, f"waiting for {response_type.NAME} responses")
            if failures:
                call.pause(failures.pop())
                failures.clear()
    except ApiTimeout as timeout:
        if not found:
            raise
        return {key: found.get(key, timeout) for key in keys}
    behind.connect_another()
    return {key: found[key] for key in keys}
