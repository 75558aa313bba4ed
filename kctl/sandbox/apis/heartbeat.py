"""Heartbeat: extends the session of a classic group member and reports rebalances."""

from kctl.client.protocol.api.group_membership import HeartbeatRequest, HeartbeatResponse
from kctl.sandbox.call import Call, Handler
from kctl.sandbox.groups.outbox import Refused


def _answer(call: Call, request: HeartbeatRequest) -> HeartbeatResponse:
    groups = call.cluster.groups
    try:
        groups.check(request.group_id, call.node)
        groups.classic(request.group_id, create=False).heartbeat(request)
    except Refused as refusal:
        return HeartbeatResponse(error_code=refusal.code)
    return HeartbeatResponse()


HANDLER = Handler(HeartbeatRequest, 0, 4, _answer)
