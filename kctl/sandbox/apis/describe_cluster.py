"""DescribeCluster: the brokers, for admin clients."""

from kctl.client.broker_errors import ErrorCode
from kctl.client.protocol.api.cluster import DescribeClusterBroker, DescribeClusterRequest, DescribeClusterResponse
from kctl.sandbox.call import Call, Handler

_BROKERS = 1


def _answer(call: Call, request: DescribeClusterRequest) -> DescribeClusterResponse:
    cluster = call.cluster
    if request.endpoint_type != _BROKERS:
        return DescribeClusterResponse(
            error_code=ErrorCode.MISMATCHED_ENDPOINT_TYPE,
            error_message="this is a broker, not a controller",
            endpoint_type=_BROKERS,
        )
    return DescribeClusterResponse(
        cluster_id=cluster.settings.cluster_id,
        controller_id=cluster.forwarding_id,
        brokers=[
            DescribeClusterBroker(
                broker_id=node.node_id, host=node.host, port=node.port, rack=node.rack, is_fenced=node.state.is_fenced
            )
            for node in cluster.nodes.values()
            if node.state.is_listed or (node.state.is_registered and request.include_fenced_brokers)
        ],
    )


HANDLER = Handler(DescribeClusterRequest, 0, 2, _answer)
