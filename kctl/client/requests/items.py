"""Items of a response: if a requested item does not appear exactly once, the response is malformed."""

from collections.abc import Iterable
from typing import TypeVar

from kctl.client.errors import KafkaError, RemoteProtocolError
from kctl.client.wording import one_line

K = TypeVar("K")
V = TypeVar("V")


def each_once(
    items: Iterable[tuple[K, V]], requested: Iterable[K] | None, api: str, broker: str
) -> dict[K, V | KafkaError]:
    """Return each requested item; a missing or duplicate item becomes a RemoteProtocolError.

    Args:
        requested: keys of the items; None for all.
        broker: name of the sender, for messages.
    """
    found: dict[K, V | KafkaError] = {}
    for key, item in items:
        found[key] = malformed(api, broker, f"contains {one_line(str(key))} twice") if key in found else item
    if requested is None:
        return found

    def missing(key: K) -> RemoteProtocolError:
        return malformed(api, broker, f"does not contain {one_line(str(key))}")

    return {key: found[key] if key in found else missing(key) for key in requested}


def malformed(api: str, broker: str, what: str) -> RemoteProtocolError:
    """Return the error of a malformed response. Args: what: verb and object, such as `contains t-0 twice`."""
    return RemoteProtocolError(f"the {api} response from {broker} {what}", api=api)
