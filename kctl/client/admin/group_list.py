"""The list of groups: asked of every broker, since each knows only those that it coordinates.

Shown by tests/sim/admin/test_groups.py.
"""

from collections.abc import Iterator, Sequence

from kctl.client.admin.call import Call
from kctl.client.admin.every_broker import ask_every_broker
from kctl.client.admin.group_values import CLASSIC, GroupList, GroupListing
from kctl.client.broker_errors import broker_error
from kctl.client.cluster import Node
from kctl.client.errors import KafkaError
from kctl.client.network.in_flight import Answer
from kctl.client.protocol.api.groups import ListGroupsRequest, ListGroupsResponse

FIRST_VERSION_WITH_TYPES = 5

Listings = dict[str, GroupListing]


def list_groups(
    call: Call, states: Sequence[str], types: Sequence[str], broker_ids: Sequence[int] | None = None
) -> GroupList:
    """Return the groups of every broker, or of some, that answered, and who did not.

    Raises: KafkaError: of the first broker, when none answered.
    """
    results = ask_every_broker(
        call,
        lambda node_id: _request(call, node_id, states, types),
        lambda node, answer: _read(call, node, answer, types),
        broker_ids,
    )
    merged: Listings = {}
    for listings in results.done.values():
        merged |= listings
    return GroupList({group_id: merged[group_id] for group_id in sorted(merged)}, results.failed)


def _request(call: Call, node_id: int, states: Sequence[str], types: Sequence[str]) -> ListGroupsRequest:
    request = ListGroupsRequest(states_filter=list(states))
    if call.client.network.supports(node_id, ListGroupsRequest, FIRST_VERSION_WITH_TYPES):
        request.types_filter = list(types)
    return request


def _read(call: Call, node: Node, answer: Answer, types: Sequence[str]) -> Listings | KafkaError:
    wanted = {kind.lower() for kind in types}

    def read(response: ListGroupsResponse) -> Iterator[tuple[str, GroupListing]]:
        for group in response.groups:
            kind = group.group_type.lower() or CLASSIC  # brokers that do not report it know no other type
            yield group.group_id, GroupListing(group.group_id, kind, group.group_state, group.protocol_type, node)

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
