"""FindCoordinator: request for keys, and the coordinator or error of each key in the response."""

from collections.abc import Sequence
from enum import IntEnum

from kctl.client.broker_errors import ErrorCode, broker_error
from kctl.client.cluster import Node
from kctl.client.errors import KafkaError
from kctl.client.protocol.api.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from kctl.client.protocol.versions import NodeVersions
from kctl.client.requests.items import each_once, malformed
from kctl.client.wording import one_line

TRANSACTIONS_HINT = "check the replicas and min.insync.replicas of __transaction_state"
"""Hint if no broker coordinates a transaction."""
FIRST_VERSION_WITH_KEYS = 4
"""First version with several keys in a request."""


class KeyType(IntEnum):
    GROUP = 0
    TRANSACTION = 1

    def name_of(self, key: str) -> str:
        return f"group {key}" if self is KeyType.GROUP else f"transactional.id {key}"


def takes_many_keys(versions: NodeVersions | None) -> bool:
    return versions is None or versions.supports(FindCoordinatorRequest, FIRST_VERSION_WITH_KEYS)


def find_coordinator(key_type: KeyType, keys: Sequence[str], versions: NodeVersions | None) -> FindCoordinatorRequest:
    """Return the request for the keys, or for the first if the node accepts only one."""
    if takes_many_keys(versions):
        return FindCoordinatorRequest(key_type=key_type, coordinator_keys=list(keys))
    return FindCoordinatorRequest(key_type=key_type, key=keys[0])


def coordinators_in(
    response: FindCoordinatorResponse, key_type: KeyType, keys: Sequence[str], broker: str = "a broker"
) -> dict[str, Node | KafkaError]:
    """Return the coordinator or error of each key; if the response has no keys, only of the first key."""
    many = [(each.key, each) for each in response.coordinators]
    entries = each_once(many, keys, "FindCoordinator", broker) if many else {}
    found: dict[str, Node | KafkaError] = {}
    for key in keys if many else keys[:1]:
        entry = entries.get(key, response)
        if isinstance(entry, KafkaError):
            found[key] = entry
        elif entry.error_code == ErrorCode.NONE and not entry.host:
            found[key] = malformed("FindCoordinator", broker, f"does not contain {key_type.name_of(key)}")
        elif entry.error_code != ErrorCode.NONE:
            what = f"find the coordinator of {key_type.name_of(key)}"
            error = broker_error(entry.error_code, what, entry.error_message)
            if key_type is KeyType.TRANSACTION and entry.error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE:
                error.hint = TRANSACTIONS_HINT
            found[key] = error
        elif one_line(entry.host) != entry.host:
            found[key] = malformed("FindCoordinator", broker, f"contains the invalid host {one_line(entry.host)}")
        else:
            found[key] = Node(entry.node_id, entry.host, entry.port)
    return found
