"""Requests about what each broker knows alone, sent to all of them at once.

Owns how long a broker that does not respond is waited for; knows no API. Shown by tests/sim/admin/test_groups.py and
tests/sim/admin/test_transactions.py.
"""

from collections.abc import Callable, Sequence
from typing import TypeVar

from kctl.client.admin.call import Call, Results
from kctl.client.cluster import Node
from kctl.client.errors import AdvertisedAddressError, ConnectTimeout, KafkaError, RequestTimeout, TransportError
from kctl.client.network.in_flight import Answer
from kctl.client.protocol.schema import Request
from kctl.client.requests.retry import ADMIN

V = TypeVar("V")

TRIES = 3
"""A broker that refuses or drops connections is tried this often, one that lets the connect timeout pass once."""


def ask_every_broker(
    call: Call,
    build: Callable[[int], Request],
    read: Callable[[Node, Answer], V | KafkaError],
    broker_ids: Sequence[int] | None = None,
) -> Results[Node, V]:
    """Return the response of every broker, or why there is none.

    Args:
        build: makes the request to a broker that is ready, given its id.
        broker_ids: only of these brokers, as far as the cluster has them.
    Raises: KafkaError: of the first broker, when none answered.
    """
    nodes = {node.node_id: node for node in _brokers(call) if broker_ids is None or node.node_id in broker_ids}
    silent: dict[int, None] = {}
    """Brokers that were connected and did not respond: a process that stands still may continue at any time."""
    of_silent: list[KafkaError] = []

    def attempt(pending: list[int]) -> dict[int, V | KafkaError]:
        builds = {node_id: lambda _timeout_ms, to=node_id: build(to) for node_id in pending}
        answers = call.ask_nodes(builds)
        silent.update((node_id, None) for node_id, answer in answers.items() if isinstance(answer, RequestTimeout))
        of_silent[:] = [error for node_id in silent if isinstance(error := answers.get(node_id), KafkaError)]
        return {
            node_id: answer if isinstance(answer, KafkaError) else read(nodes[node_id], answer)
            for node_id, answer in answers.items()
        }

    def is_retried(error: KafkaError, tries: int) -> bool:
        if isinstance(error, TransportError) and not any(error is each for each in of_silent):
            cause = error.cause if isinstance(error, AdvertisedAddressError) else error
            if isinstance(cause, ConnectTimeout) or tries >= TRIES:
                return False
        return ADMIN.is_retried(error)

    results = call.each(nodes, attempt, is_retried)
    if not results.done:
        results.raise_first()
    return Results(
        {nodes[node_id]: found for node_id, found in results.done.items()},
        {nodes[node_id]: error for node_id, error in results.failed.items()},
    )


def _brokers(call: Call) -> tuple[Node, ...]:
    """Return the brokers as they are now: one that has come since the last look counts, too."""
    metadata = call.client.metadata
    metadata.request_update()
    seen = metadata.version
    call.wait_until(
        lambda: metadata.version > seen, lambda: f"waiting for the list of brokers{call.client.metadata_sources()}"
    )
    return metadata.cluster.nodes
