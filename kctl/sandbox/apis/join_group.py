"""JoinGroup: adds a member to a classic group. The response waits for the other members."""

from kctl.client.broker_errors import ErrorCode
from kctl.client.protocol.api.group_membership import JoinGroupRequest, JoinGroupResponse
from kctl.sandbox.call import Call, Handler
from kctl.sandbox.groups.classic import ClassicGroup
from kctl.sandbox.groups.classic_member import refused_join
from kctl.sandbox.groups.outbox import Refused


def _answer(call: Call, request: JoinGroupRequest) -> JoinGroupResponse | None:
    groups, settings = call.cluster.groups, call.cluster.settings
    try:
        groups.check(request.group_id, call.node)
        shortest, longest = settings.group_min_session_timeout_ms, settings.group_max_session_timeout_ms
        if not shortest <= request.session_timeout_ms <= longest:
            raise Refused(ErrorCode.INVALID_SESSION_TIMEOUT)
        with groups.outbox:
            is_new = groups.get(request.group_id) is None
            group = groups.classic(request.group_id, create=not request.member_id)
            group.join(call.asker(), request)
            if is_new and isinstance(group, ClassicGroup):
                group.store_new()
    except Refused as refusal:
        return refused_join(refusal.code, request.member_id, call.version)
    return None


HANDLER = Handler(JoinGroupRequest, 0, 9, _answer)
