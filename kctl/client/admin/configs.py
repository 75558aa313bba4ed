"""Configs of topics, brokers and groups. Shown by tests/sim/admin/test_configs.py.

A broker describes only itself, so that configs of brokers are requested from each; any broker describes the rest.
"""

from collections.abc import Iterator, Sequence
from enum import IntEnum
from typing import NamedTuple

from kctl.client.admin.call import Build, Call, Results, any_node, not_registered
from kctl.client.broker_errors import broker_error
from kctl.client.errors import KafkaError
from kctl.client.protocol.api.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
)
from kctl.client.requests.retry import ADMIN_GROUPS


class ResourceType(IntEnum):
    """What a config belongs to."""

    TOPIC = 2
    BROKER = 4
    BROKER_LOGGER = 8
    CLIENT_METRICS = 16
    GROUP = 32


class ConfigResource(NamedTuple):
    """A topic by name, a broker by its id as text, a group by its id, ...; a broker "" is the default of all."""

    type: ResourceType
    name: str

    def __str__(self) -> str:
        return f"{self.type.name.lower()} {self.name}"

    @property
    def node_id(self) -> int | None:
        """The broker that alone can describe it; None: any can."""
        is_broker = self.type in (ResourceType.BROKER, ResourceType.BROKER_LOGGER) and self.name
        return int(self.name) if is_broker else None


class ConfigEntry(NamedTuple):
    """One property of a resource.

    Attributes:
        value: None where it is sensitive, or not set.
        source: Kafka's number of where it was set: 1 the topic, 2 this broker, 3 all brokers, 4 the broker's file,
            5 the default; -1 where the broker does not report it.
        synonyms: (name, value, source) of each place that could set it, the one in force first; only if requested.
        documentation: what the property means; only if requested.
    """

    name: str
    value: str | None
    source: int
    is_read_only: bool
    is_sensitive: bool
    synonyms: tuple[tuple[str, str | None, int], ...] = ()
    documentation: str = ""


Configs = dict[str, ConfigEntry]


def describe_configs(
    call: Call, resources: Sequence[ConfigResource], *, synonyms: bool, documentation: bool
) -> Results[ConfigResource, Configs]:
    """Return the entries of each resource, by name."""
    node_ids = {resource: resource.node_id for resource in resources}

    def build(asked: Sequence[ConfigResource]) -> Build:
        entries = [
            DescribeConfigsResource(resource_type=each.type, resource_name=each.name, configuration_keys=None)
            for each in asked
        ]
        return lambda _: DescribeConfigsRequest(
            resources=entries, include_synonyms=synonyms, include_documentation=documentation
        )

    def attempt(pending: list[ConfigResource]) -> dict[ConfigResource, Configs | KafkaError]:
        of_node: dict[int | None, list[ConfigResource]] = {}
        for resource in pending:
            of_node.setdefault(node_ids[resource], []).append(resource)
        found: dict[ConfigResource, Configs | KafkaError] = {}
        of_any = of_node.pop(None, None)
        if of_any:
            found |= call.ask_items(any_node, build(of_any), DescribeConfigsResponse, of_any, _configs_in)
        builds = {node_id: build(asked) for node_id, asked in of_node.items() if node_id is not None}
        for node_id, answer in call.ask_nodes(builds).items():
            if isinstance(answer, KafkaError) and call.client.metadata.cluster.node(node_id) is None:
                answer = not_registered(node_id)
            found |= call.items(answer, of_node[node_id], _configs_in)
        return found

    return call.each(resources, attempt, ADMIN_GROUPS.is_retried)


def _configs_in(response: DescribeConfigsResponse) -> Iterator[tuple[ConfigResource, Configs | KafkaError]]:
    for result in response.results:
        if result.resource_type not in set(ResourceType):
            continue
        resource = ConfigResource(ResourceType(result.resource_type), result.resource_name)
        what = f"DescribeConfigs {resource}"
        error = broker_error(result.error_code, what, result.error_message) if result.error_code else None
        yield resource, error or {entry.name: _entry(entry) for entry in result.configs}


def _entry(entry: DescribeConfigsResourceResult) -> ConfigEntry:
    synonyms = tuple((each.name, each.value, each.source) for each in entry.synonyms)
    return ConfigEntry(
        entry.name,
        entry.value,
        entry.config_source,
        entry.read_only,
        entry.is_sensitive,
        synonyms,
        entry.documentation or "",
    )
