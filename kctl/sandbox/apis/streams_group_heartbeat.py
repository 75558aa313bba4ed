"""StreamsGroupHeartbeat: membership of streams groups. Source: KIP-1071."""

from kctl.client.protocol.api.streams_groups import StreamsGroupHeartbeatRequest, StreamsGroupHeartbeatResponse
from kctl.sandbox.call import Call, Handler
from kctl.sandbox.groups.heartbeat_group import JOIN
from kctl.sandbox.groups.outbox import Refused


def _answer(call: Call, request: StreamsGroupHeartbeatRequest) -> StreamsGroupHeartbeatResponse:
    groups = call.cluster.groups
    try:
        groups.check(request.group_id, call.node)
        group = groups.streams(request.group_id, create=request.member_epoch == JOIN)
        return group.heartbeat(request, call.client_id or "")
    except Refused as refusal:
        return StreamsGroupHeartbeatResponse(error_code=refusal.code, error_message=str(refusal))


HANDLER = Handler(StreamsGroupHeartbeatRequest, 0, 0, _answer)
