"""FindCoordinator: the coordinator of a group or a transactional ID."""

from kctl.client.broker_errors import ErrorCode
from kctl.client.protocol.api.find_coordinator import Coordinator, FindCoordinatorRequest, FindCoordinatorResponse
from kctl.sandbox.call import Call, Handler

_GROUP, _TRANSACTION = 0, 1
_MANY_KEYS_FROM = 4


def _answer(call: Call, request: FindCoordinatorRequest) -> FindCoordinatorResponse:
    if call.version >= _MANY_KEYS_FROM:
        found = [_coordinator(call, request.key_type, key) for key in request.coordinator_keys]
        return FindCoordinatorResponse(coordinators=found)
    one = _coordinator(call, request.key_type, request.key)
    return FindCoordinatorResponse(
        error_code=one.error_code, error_message=one.error_message, node_id=one.node_id, host=one.host, port=one.port
    )


def _coordinator(call: Call, key_type: int, key: str) -> Coordinator:
    if key_type not in (_GROUP, _TRANSACTION):
        text = f"key type {key_type}: use 0 (group) or 1 (transaction)"
        return Coordinator(
            key=key, node_id=-1, host="", port=-1, error_code=ErrorCode.INVALID_REQUEST, error_message=text
        )
    cluster = call.cluster
    if key_type == _GROUP:
        cluster.groups.topic.create()
    coordination = cluster.groups if key_type == _GROUP else cluster.transactions
    code = coordination.lookup_error(key)
    if code is not ErrorCode.NONE:
        return Coordinator(key=key, node_id=-1, host="", port=-1, error_code=code, error_message=code.text)
    node = coordination.node_of(key)
    return Coordinator(key=key, node_id=node.node_id, host=node.host, port=node.port)


HANDLER = Handler(FindCoordinatorRequest, 0, 6, _answer)
