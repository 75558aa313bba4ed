"""The list of groups: asked of every broker, since each knows only those that it coordinates.

Owns how long a broker that does not answer is waited for. Shown by tests/sim/admin/test_groups.py.
"""

from collections.abc import Iterator, Sequence

from kctl.client.admin.call import Call
from kctl.client.admin.group_values import CLASSIC, GroupList, GroupListing
from kctl.client.broker_errors import broker_error
from kctl.client.cluster import Node
from kctl.client.errors import AdvertisedAddressError, ConnectTimeout, KafkaError, RequestTimeout, TransportError
from kctl.client.network.in_flight import Answer
from kctl.client.protocol.api.list_groups import ListGroupsRequest, ListGroupsResponse
from kctl.client.requests.retry import ADMIN

FIRST_VERSION_WITH_TYPES = 5
TRIES = 3
"""A broker that refuses or drops connections is tried this often, one that lets the connect timeout pass once."""

Listings = dict[str, GroupListing]


def list_groups(call: Call, states: Sequence[str], types: Sequence[str]) -> GroupList:
    """Return the groups of every broker that answered, and who did not.

    Raises: KafkaError: of the first broker, when none answered.
    """
    nodes = {node.node_id: node for node in _brokers(call)}
    silent: dict[int, None] = {}
    """Brokers that were connected and did not respond: a process that stands still may continue at any time."""
    of_silent: list[KafkaError] = []

    def attempt(pending: list[int]) -> dict[int, Listings | KafkaError]:
        builds = {node_id: lambda _timeout_ms, to=node_id: _request(call, to, states, types) for node_id in pending}
        answers = call.ask_nodes(builds)
        silent.update((node_id, None) for node_id, answer in answers.items() if isinstance(answer, RequestTimeout))
        of_silent[:] = [error for node_id in silent if isinstance(error := answers.get(node_id), KafkaError)]
        return {node_id: _read(call, nodes[node_id], answer, types) for node_id, answer in answers.items()}

    def is_retried(error: KafkaError, tries: int) -> bool:
        if isinstance(error, TransportError) and not any(error is each for each in of_silent):
            cause = error.cause if isinstance(error, AdvertisedAddressError) else error
            if isinstance(cause, ConnectTimeout) or tries >= TRIES:
                return False
        return ADMIN.is_retried(error)

    results = call.each(nodes, attempt, is_retried)
    if not results.done:
        results.raise_first()
    merged: Listings = {}
    for listings in results.done.values():
        merged |= listings
    failed = {nodes[node_id]: error for node_id, error in results.failed.items()}
    return GroupList({group_id: merged[group_id] for group_id in sorted(merged)}, failed)


def _brokers(call: Call) -> tuple[Node, ...]:
    """Return the brokers as they are now: one that has come since the last look has groups, too."""
    metadata = call.client.metadata
    metadata.request_update()
    seen = metadata.version
    call.wait_until(lambda: metadata.version > seen, "waiting for the list of brokers")
    return metadata.cluster.nodes


def _request(call: Call, node_id: int, states: Sequence[str], types: Sequence[str]) -> ListGroupsRequest:
    request = ListGroupsRequest(states_filter=list(states))
    if call.client.network.supports(node_id, ListGroupsRequest, FIRST_VERSION_WITH_TYPES):
        request.types_filter = list(types)
    return request


def _read(call: Call, node: Node, answer: Answer | KafkaError, types: Sequence[str]) -> Listings | KafkaError:
    wanted = {kind.lower() for kind in types}

    def read(response: ListGroupsResponse) -> Iterator[tuple[str, GroupListing]]:
        for group in response.groups:
            kind = group.group_type.lower() or CLASSIC  # brokers that do not report it know no other type
            yield group.group_id, GroupListing(group.group_id, kind, group.group_state, group.protocol_type, node)

    if isinstance(answer, KafkaError):
        return answer
    assert isinstance(answer.response, ListGroupsResponse)
    if answer.response.error_code:
        return broker_error(answer.response.error_code, f"ListGroups on {node}")
    listings: Listings = {}
    for group_id, listing in call.items(answer, None, read).items():
        if isinstance(listing, KafkaError):
            return listing
        if not wanted or listing.type in wanted:
            listings[group_id] = listing
    return listings
