"""ListConfigResources: groups and client metrics with configs, all brokers, and all topics."""

from typing import TYPE_CHECKING

from kctl.client.broker_errors import ErrorCode
from kctl.client.protocol.api.configs import ConfigResource, ListConfigResourcesRequest, ListConfigResourcesResponse
from kctl.sandbox.call import Call, Handler
from kctl.sandbox.configs import Kind

if TYPE_CHECKING:
    from kctl.sandbox.cluster import Cluster

_BROKER_LOGGER = 8
_ONLY_CLIENT_METRICS_BEFORE = 1


def _names(cluster: "Cluster") -> dict[int, list[str]]:
    brokers = [str(node_id) for node_id in cluster.nodes]
    return {
        int(Kind.GROUP): cluster.configs.names(Kind.GROUP),
        int(Kind.CLIENT_METRICS): cluster.configs.names(Kind.CLIENT_METRICS),
        _BROKER_LOGGER: brokers,
        int(Kind.BROKER): brokers,
        int(Kind.TOPIC): list(cluster.topics),
    }


def _answer(call: Call, request: ListConfigResourcesRequest) -> ListConfigResourcesResponse:
    names = _names(call.cluster)
    wanted = request.resource_types or list(names)
    if call.version < _ONLY_CLIENT_METRICS_BEFORE:
        wanted = [int(Kind.CLIENT_METRICS)]
    if not set(wanted) <= set(names):
        return ListConfigResourcesResponse(error_code=ErrorCode.UNSUPPORTED_VERSION)
    return ListConfigResourcesResponse(
        config_resources=[
            ConfigResource(resource_name=name, resource_type=kind)
            for kind, listed in names.items()
            if kind in wanted
            for name in listed
        ]
    )


HANDLER = Handler(ListConfigResourcesRequest, 0, 1, _answer)
