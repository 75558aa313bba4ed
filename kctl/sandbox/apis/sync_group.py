"""SyncGroup: distributes the assignments of a classic group's leader. Responses to other members wait for them."""

from kctl.client.broker_errors import ErrorCode
from kctl.client.protocol.api.group_membership import SyncGroupRequest, SyncGroupResponse
from kctl.sandbox.call import Call, Handler
from kctl.sandbox.groups.outbox import Refused

_NAMES_PROTOCOL_FROM = 5


def _answer(call: Call, request: SyncGroupRequest) -> SyncGroupResponse | None:
    groups = call.cluster.groups
    try:
        groups.check(request.group_id, call.node)
        if call.version >= _NAMES_PROTOCOL_FROM and None in (request.protocol_type, request.protocol_name):
            raise Refused(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
        with groups.outbox:
            groups.classic(request.group_id, create=False).sync(call.asker(), request)
    except Refused as refusal:
        return SyncGroupResponse(error_code=refusal.code)
    return None


HANDLER = Handler(SyncGroupRequest, 0, 5, _answer)
