"""Features of a cluster, such as metadata.version, and their levels. Shown by tests/sim/admin/test_cluster.py."""

from typing import NamedTuple

from kctl.client.admin.call import Call, any_node
from kctl.client.broker_errors import broker_error
from kctl.client.protocol.api.api_versions import ApiVersionsRequest, ApiVersionsResponse
from kctl.version import VERSION


class Feature(NamedTuple):
    """A feature: its level in the cluster (0: off), and the levels that the broker asked supports."""

    name: str
    level: int
    lowest: int
    highest: int


def describe_features(call: Call) -> list[Feature]:
    """Return the features that a broker reports, by name; old brokers report none."""
    request = ApiVersionsRequest(client_software_name="kctl", client_software_version=VERSION)
    response = call.ask(any_node, lambda _: request, ApiVersionsResponse)
    if response.error_code:
        raise broker_error(response.error_code, "ApiVersions")
    levels = {each.name: each.max_version_level for each in response.finalized_features}
    supported = {each.name: (each.min_version, each.max_version) for each in response.supported_features}
    names = sorted(levels.keys() | supported.keys())
    return [Feature(name, levels.get(name, 0), *supported.get(name, (0, levels.get(name, 0)))) for name in names]
