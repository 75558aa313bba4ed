"""ConsumerGroupHeartbeat: membership of consumer groups. Source: KIP-848."""

from functools import partial

from kctl.client.acls import AclOperation, AclResourceType
from kctl.client.broker_errors import ErrorCode
from kctl.client.protocol.api.consumer_groups import ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse
from kctl.sandbox.call import Call, Handler
from kctl.sandbox.groups.consumer_member import JOIN, check_heartbeat
from kctl.sandbox.groups.outbox import Refused


def _answer(call: Call, request: ConsumerGroupHeartbeatRequest) -> ConsumerGroupHeartbeatResponse:
    groups = call.cluster.groups
    if call.cluster.settings.group_version < 1:
        return ConsumerGroupHeartbeatResponse(error_code=ErrorCode.UNSUPPORTED_VERSION)
    try:
        check_heartbeat(request, call.version)
        groups.check(request.group_id, call.node)
        group = groups.consumer(request.group_id, create=request.member_epoch == JOIN)
        may_describe = partial(
            call.cluster.authorizer.allows, call.identity.principal, AclOperation.DESCRIBE, AclResourceType.TOPIC
        )
        return group.heartbeat(request, call.client_id or "", may_describe)
    except Refused as refusal:
        return ConsumerGroupHeartbeatResponse(error_code=refusal.code, error_message=str(refusal))


HANDLER = Handler(ConsumerGroupHeartbeatRequest, 0, 1, _answer)
