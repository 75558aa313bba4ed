"""ListGroups: groups that this node coordinates, with optional filters by state and type."""

from kctl.client.protocol.api.groups import ListedGroup, ListGroupsRequest, ListGroupsResponse
from kctl.sandbox.call import Call, Handler


def _answer(call: Call, request: ListGroupsRequest) -> ListGroupsResponse:
    states = [state.lower() for state in request.states_filter]
    kinds = [kind.lower() for kind in request.types_filter]
    return ListGroupsResponse(
        groups=[
            ListedGroup(
                group_id=group.group_id,
                protocol_type=group.protocol_type,
                group_state=group.state_name,
                group_type=group.kind,
            )
            for group in call.cluster.groups.on(call.node)
            if (not states or group.state_name.lower() in states) and (not kinds or group.kind in kinds)
        ]
    )


HANDLER = Handler(ListGroupsRequest, 0, 5, _answer)
