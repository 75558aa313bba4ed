"""Responses without an error code that contain impossible values: they are errors, and are retried with a backoff."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from kctl.client.errors import DeliveryTimeout, RemoteProtocolError
from tests.sim.chaos.replies import Replies
from tests.sim.kit import SimCluster, run

MOST_REQUESTS = 30
"""Number of requests that a client may send in 4 seconds, with a backoff of 100 ms to 1 s."""


@contextmanager
def edited(api: str, edit: Callable[[Any], None]) -> Iterator[list[str]]:
    """Edit all responses of an API; the list grows with each."""
    replies, seen = Replies(), list[str]()

    def on_request(_call: object, request: Any, response: Any) -> None:
        if api == request.NAME and response is not None:
            seen.append(api)
            edit(response)

    replies.on_request(on_request)
    with replies.installed():
        yield seen


def test_producer_without_a_valid_id_sends_no_records_and_names_the_response() -> None:
    def edit(response: Any) -> None:
        response.producer_id = -1

    def app(cluster: SimCluster) -> None:
        limits = {"delivery.timeout.ms": 4000, "request.timeout.ms": 1000, "linger.ms": 0}
        with edited("InitProducerId", edit) as seen, cluster.producer(limits) as producer:
            error = producer.send("t", b"x").exception(6)
            assert isinstance(error, DeliveryTimeout)
            assert isinstance(error.cause, RemoteProtocolError)
            assert "contains id -1, epoch 0" in str(error.cause)
            assert 1 < len(seen) < MOST_REQUESTS

    assert run(app).values(0) == []
