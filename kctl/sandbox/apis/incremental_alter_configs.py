"""IncrementalAlterConfigs: properties set, removed, or changed as lists; each resource as a whole or not at all."""

from kctl.client.broker_errors import ErrorCode
from kctl.client.protocol.api.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    AlterConfigsResourceResponse,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from kctl.sandbox.call import Call, Handler
from kctl.sandbox.configs import DEFAULTS, Kind
from kctl.sandbox.settings import InvalidSetting, check_number, topic_settings

_SET, _DELETE, _APPEND, _SUBTRACT = range(4)


class _Refused(Exception):
    def __init__(self, code: ErrorCode, text: str) -> None:
        super().__init__(text)
        self.code = code


def _answer(call: Call, request: IncrementalAlterConfigsRequest) -> IncrementalAlterConfigsResponse:
    responses = []
    for resource in request.resources:
        response = AlterConfigsResourceResponse(
            resource_type=resource.resource_type, resource_name=resource.resource_name, error_message=None
        )
        try:
            _alter(call, resource, validate_only=request.validate_only)
        except _Refused as error:
            response.error_code, response.error_message = error.code, str(error)
        except InvalidSetting as error:
            response.error_code, response.error_message = ErrorCode.INVALID_CONFIG, str(error)
        responses.append(response)
    return IncrementalAlterConfigsResponse(responses=responses)


def _alter(call: Call, resource: AlterConfigsResource, *, validate_only: bool) -> None:
    kind, name = _checked(call, resource)
    properties = dict(
        call.cluster.topics[name].properties if kind is Kind.TOPIC else call.cluster.configs.of(kind, name)
    )
    for change in resource.configs:
        _apply(properties, kind, change)
    if kind is Kind.TOPIC:
        topic_settings(properties, call.cluster.settings)
        if not validate_only:
            call.cluster.configure_topic(name, properties)
        return
    for each, value in properties.items():
        if each not in DEFAULTS[kind]:
            raise InvalidSetting(f"Unknown {kind.name.lower()} config name: {each}")
        check_number(each, value, DEFAULTS[kind][each])
    if not validate_only:
        call.cluster.configs.replace(kind, name, properties)


def _checked(call: Call, resource: AlterConfigsResource) -> tuple[Kind, str]:
    name = resource.resource_name
    if resource.resource_type not in set(Kind):
        raise _Refused(ErrorCode.INVALID_REQUEST, f"Unknown resource type {resource.resource_type}")
    kind = Kind(resource.resource_type)
    if kind is Kind.TOPIC and name not in call.cluster.topics:
        raise _Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"The topic '{name}' does not exist.")
    if kind is Kind.BROKER and name not in ("", str(call.node.node_id)):
        raise _Refused(
            ErrorCode.INVALID_REQUEST, f"Unexpected broker id, expected {call.node.node_id}, received {name}"
        )
    names = [each.name for each in resource.configs]
    if len(set(names)) < len(names):
        raise _Refused(ErrorCode.INVALID_REQUEST, "Error due to duplicate config keys")
    return kind, name


def _apply(properties: dict[str, str], kind: Kind, change: AlterableConfig) -> None:
    if change.config_operation == _DELETE:
        properties.pop(change.name, None)
        return
    if change.value is None:
        raise _Refused(ErrorCode.INVALID_REQUEST, f"Null value not supported for : {change.name}")
    if change.config_operation == _SET:
        properties[change.name] = change.value
        return
    default = DEFAULTS[kind].get(change.name, "")
    listed = [each for each in properties.get(change.name, default).split(",") if each]
    given = change.value.split(",")
    kept = [each for each in listed if each not in given]
    properties[change.name] = ",".join([*kept, *given] if change.config_operation == _APPEND else kept)


HANDLER = Handler(IncrementalAlterConfigsRequest, 0, 1, _answer)
