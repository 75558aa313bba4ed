"""Requests to all brokers in parallel, about state that each broker alone knows."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TypeVar, cast

from kctl.client.admin.call import Call, Items
from kctl.client.cluster import Node
from kctl.client.errors import AdvertisedAddressError, ConnectTimeout, KafkaError, RequestTimeout, TransportError
from kctl.client.network.in_flight import Answer
from kctl.client.protocol.schema import Request, Response
from kctl.client.requests.retry import ADMIN

V = TypeVar("V")
R = TypeVar("R", bound=Response)

TRIES = 3
"""Attempts for a broker that refuses or drops connections; a broker with a connect timeout gets one."""


def ask_every_broker(
    call: Call,
    build: Callable[[int], Request],
    read: Callable[[Node, R], Items[str, V]],
    broker_ids: Sequence[int] | None = None,
) -> tuple[dict[str, V], Mapping[Node, KafkaError]]:
    """Return the items of all brokers, sorted by name, and the errors of brokers that did not respond.

    Args: broker_ids: brokers to query, if they are in the cluster; None for all.
    Raises: KafkaError: no broker responded.
    """
    nodes = {node.node_id: node for node in _brokers(call) if broker_ids is None or node.node_id in broker_ids}
    silent: dict[int, None] = {}
    """Connected brokers that did not respond; a suspended process may continue at any time."""
    of_silent: list[KafkaError] = []

    def attempt(pending: list[int]) -> dict[int, dict[str, V] | KafkaError]:
        builds = {node_id: lambda _timeout_ms, to=node_id: build(to) for node_id in pending}
        answers = call.ask_nodes(builds)
        silent.update((node_id, None) for node_id, answer in answers.items() if isinstance(answer, RequestTimeout))
        of_silent[:] = [error for node_id in silent if isinstance(error := answers.get(node_id), KafkaError)]
        return {node_id: _listed(call, answer, partial(read, nodes[node_id])) for node_id, answer in answers.items()}

    def is_retried(error: KafkaError, tries: int) -> bool:
        if isinstance(error, TransportError) and not any(error is each for each in of_silent):
            cause = error.cause if isinstance(error, AdvertisedAddressError) else error
            if isinstance(cause, ConnectTimeout) or tries >= TRIES:
                return False
        return ADMIN.is_retried(error)

    results = call.each(nodes, attempt, is_retried)
    if not results.done:
        results.raise_first()
    merged = {name: each for listed in results.done.values() for name, each in listed.items()}
    failed = {nodes[node_id]: error for node_id, error in results.failed.items()}
    return {name: merged[name] for name in sorted(merged)}, failed


def _listed(call: Call, answer: Answer | KafkaError, read: Callable[[R], Items[str, V]]) -> dict[str, V] | KafkaError:
    found = answer if isinstance(answer, KafkaError) else read(cast("R", answer.response))
    if isinstance(answer, KafkaError) or isinstance(found, KafkaError):
        assert isinstance(found, KafkaError)
        return found
    listed: dict[str, V] = {}
    for name, each in call.items(answer, None, lambda _: found).items():
        if isinstance(each, KafkaError):
            return each
        listed[name] = each
    return listed


def _brokers(call: Call) -> tuple[Node, ...]:
    metadata = call.client.metadata
    metadata.request_update()
    seen = metadata.version
    call.wait_until(
        lambda: metadata.version > seen, lambda: f"waiting for the list of brokers{call.client.metadata_sources()}"
    )
    return tuple(metadata.cluster.nodes.values())
