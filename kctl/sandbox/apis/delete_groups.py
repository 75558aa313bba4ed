"""DeleteGroups: deletes groups without members, and their committed offsets."""

from kctl.client.broker_errors import ErrorCode
from kctl.client.protocol.api.groups import DeletableGroupResult, DeleteGroupsRequest, DeleteGroupsResponse
from kctl.sandbox.call import Call, Handler
from kctl.sandbox.groups.outbox import Refused


def _answer(call: Call, request: DeleteGroupsRequest) -> DeleteGroupsResponse:
    return DeleteGroupsResponse(
        results=[
            DeletableGroupResult(group_id=group_id, error_code=_delete(call, group_id))
            for group_id in request.groups_names
        ]
    )


def _delete(call: Call, group_id: str) -> ErrorCode:
    try:
        call.cluster.groups.check(group_id, call.node, may_be_nameless=True)
        call.cluster.groups.delete(group_id)
    except Refused as refusal:
        return refusal.code
    return ErrorCode.NONE


HANDLER = Handler(DeleteGroupsRequest, 0, 2, _answer)
