"""ShareGroupHeartbeat: membership of share groups. Source: KIP-932."""

from kctl.client.protocol.api.share_groups import ShareGroupHeartbeatRequest, ShareGroupHeartbeatResponse
from kctl.sandbox.call import Call, Handler
from kctl.sandbox.groups.heartbeat_group import JOIN
from kctl.sandbox.groups.outbox import Refused


def _answer(call: Call, request: ShareGroupHeartbeatRequest) -> ShareGroupHeartbeatResponse:
    groups = call.cluster.groups
    try:
        groups.check(request.group_id, call.node)
        group = groups.share(request.group_id, create=request.member_epoch == JOIN)
        return group.heartbeat(request, call.client_id or "")
    except Refused as refusal:
        return ShareGroupHeartbeatResponse(error_code=refusal.code, error_message=str(refusal))


HANDLER = Handler(ShareGroupHeartbeatRequest, 1, 1, _answer)
