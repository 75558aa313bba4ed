"""DescribeConfigs: the properties of a node or a topic; a node refuses to speak for another and says who it is."""

from kctl.client.broker_errors import ErrorCode
from kctl.client.protocol.api.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
)
from kctl.sandbox.call import Call, Handler

_TOPIC, _BROKER = 2, 4


def _answer(call: Call, request: DescribeConfigsRequest) -> DescribeConfigsResponse:
    return DescribeConfigsResponse(results=[_result(call, resource) for resource in request.resources])


def _result(call: Call, resource: DescribeConfigsResource) -> DescribeConfigsResult:
    result = DescribeConfigsResult(resource_type=resource.resource_type, resource_name=resource.resource_name)
    properties: dict[str, str] = {}
    if resource.resource_type == _BROKER:
        own_id = str(call.node.node_id)
        if resource.resource_name not in ("", own_id):
            result.error_code = ErrorCode.INVALID_REQUEST
            result.error_message = (
                f"Unexpected broker id, expected {own_id} or empty string, but received {resource.resource_name}"
            )
            return result
        properties = {"node.id": own_id, "message.max.bytes": str(call.cluster.settings.message_max_bytes)}
    elif resource.resource_type == _TOPIC:
        topic = call.cluster.topics.get(resource.resource_name)
        if topic is None:
            result.error_code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            return result
        properties = topic.properties
    else:
        result.error_code = ErrorCode.INVALID_REQUEST
        result.error_message = f"no configuration for resources of type {resource.resource_type}"
        return result
    wanted = resource.configuration_keys
    result.configs = [
        DescribeConfigsResourceResult(name=name, value=value, read_only=True)
        for name, value in properties.items()
        if wanted is None or name in wanted
    ]
    return result


HANDLER = Handler(DescribeConfigsRequest, 1, 4, _answer)
