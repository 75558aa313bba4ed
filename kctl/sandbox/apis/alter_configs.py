"""AlterConfigs: replaces all properties of a resource."""

from kctl.client.protocol.api.configs import (
    AlterConfigsRequest,
    AlterConfigsRequestAlterConfigsResource,
    AlterConfigsResourceResponse,
    AlterConfigsResponse,
)
from kctl.sandbox.call import Call, Handler
from kctl.sandbox.config_changes import altered, check_resource, given_value, store


def _answer(call: Call, request: AlterConfigsRequest) -> AlterConfigsResponse:
    def alter(resource: AlterConfigsRequestAlterConfigsResource) -> None:
        kind, name = check_resource(call, resource)
        properties = {each.name: given_value(each.name, each.value) for each in resource.configs}
        store(call, kind, name, properties, validate_only=request.validate_only)

    return AlterConfigsResponse(responses=altered(request.resources, alter, AlterConfigsResourceResponse))


HANDLER = Handler(AlterConfigsRequest, 0, 2, _answer)
