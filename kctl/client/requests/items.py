"""Items of a response: each one that was requested, exactly once. Anything else is a malformed response. Pure."""

from collections.abc import Iterable
from typing import TypeVar

from kctl.client.errors import KafkaError, RemoteProtocolError
from kctl.client.wording import one_line

K = TypeVar("K")
V = TypeVar("V")


def each_once(
    items: Iterable[tuple[K, V]], requested: Iterable[K] | None, api: str, broker: str
) -> dict[K, V | KafkaError]:
    """Return each requested item; one that the response leaves out or has twice is a RemoteProtocolError.

    Args:
        items: of the response; those that were not requested are ignored.
        requested: None: all that there are.
        broker: that sent the response, as messages name it.
    """
    found: dict[K, V | KafkaError] = {}
    for key, item in items:
        found[key] = malformed(api, broker, f"has {one_line(str(key))} twice") if key in found else item
    if requested is None:
        return found

    def missing(key: K) -> RemoteProtocolError:
        return malformed(api, broker, f"leaves out {one_line(str(key))}")

    return {key: found[key] if key in found else missing(key) for key in requested}


def malformed(api: str, broker: str, what: str) -> RemoteProtocolError:
    """Return the error of a response that no broker may send."""
    return RemoteProtocolError(f"the {api} response of {broker} {what}", api=api)
