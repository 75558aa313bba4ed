"""IncrementalAlterConfigs: sets, deletes, and edits the properties of each resource, either all or none."""

from kctl.client.protocol.api.configs import (
    AlterableConfig,
    AlterConfigsResource,
    AlterConfigsResourceResponse,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from kctl.sandbox.call import Call, Handler
from kctl.sandbox.config_changes import altered, check_resource, given_value, store
from kctl.sandbox.configs import DEFAULTS, Kind

_SET, _DELETE, _APPEND, _SUBTRACT = range(4)


def _answer(call: Call, request: IncrementalAlterConfigsRequest) -> IncrementalAlterConfigsResponse:
    def alter(resource: AlterConfigsResource) -> None:
        _alter(call, resource, validate_only=request.validate_only)

    return IncrementalAlterConfigsResponse(responses=altered(request.resources, alter, AlterConfigsResourceResponse))


def _alter(call: Call, resource: AlterConfigsResource, *, validate_only: bool) -> None:
    kind, name = check_resource(call, resource)
    properties = dict(
        call.cluster.topics[name].properties if kind is Kind.TOPIC else call.cluster.configs.of(kind, name)
    )
    for change in resource.configs:
        _apply(properties, kind, change)
    store(call, kind, name, properties, validate_only=validate_only)


def _apply(properties: dict[str, str], kind: Kind, change: AlterableConfig) -> None:
    if change.config_operation == _DELETE:
        properties.pop(change.name, None)
        return
    value = given_value(change.name, change.value)
    if change.config_operation == _SET:
        properties[change.name] = value
        return
    default = DEFAULTS[kind].get(change.name, "")
    listed = [each for each in properties.get(change.name, default).split(",") if each]
    given = value.split(",")
    kept = [each for each in listed if each not in given]
    properties[change.name] = ",".join([*kept, *given] if change.config_operation == _APPEND else kept)


HANDLER = Handler(IncrementalAlterConfigsRequest, 0, 1, _answer)
