"""Configs of topics, brokers, groups, and other resources.

Changes are incremental, so parallel changes do not overwrite each other. Only a broker itself handles its configs.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import IntEnum
from typing import NamedTuple, TypeVar

from kctl.client.admin.call import Build, Call, Items, Results, any_node, broker, not_registered
from kctl.client.admin.spread import BrokersBehind, ask_brokers
from kctl.client.broker_errors import broker_error
from kctl.client.errors import ApiTimeout, KafkaError
from kctl.client.network.in_flight import Answer
from kctl.client.protocol.api.configs import (
    AlterableConfig,
    AlterConfigsResource,
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from kctl.client.protocol.schema import Response
from kctl.client.requests.retry import ADMIN_GROUPS

V = TypeVar("V")
R = TypeVar("R", bound=Response)

_SET, _DELETE, _APPEND, _SUBTRACT = range(4)


class ResourceType(IntEnum):
    """Type of a resource with configs."""

    TOPIC = 2
    BROKER = 4
    BROKER_LOGGER = 8
    CLIENT_METRICS = 16
    GROUP = 32


class ListChange(NamedTuple):
    """Comma-separated items to add to a list property or to remove from it."""

    items: str
    is_removal: bool = False


ConfigChange = str | ListChange | None
"""A value, items to add or remove, or None for the default."""

CONFIG_SOURCES = {
    1: "DYNAMIC_TOPIC_CONFIG",
    2: "DYNAMIC_BROKER_CONFIG",
    3: "DYNAMIC_DEFAULT_BROKER_CONFIG",
    4: "STATIC_BROKER_CONFIG",
    5: "DEFAULT_CONFIG",
    6: "DYNAMIC_BROKER_LOGGER_CONFIG",
    7: "DYNAMIC_CLIENT_METRICS_CONFIG",
    8: "DYNAMIC_GROUP_CONFIG",
}
"""Kafka's name of each source of values."""
CONFIG_TYPES = {
    1: "BOOLEAN",
    2: "STRING",
    3: "INT",
    4: "SHORT",
    5: "LONG",
    6: "DOUBLE",
    7: "LIST",
    8: "CLASS",
    9: "PASSWORD",
}
"""Kafka's name of each type of values."""


class ConfigResource(NamedTuple):
    """A resource with configs. Attributes: name: topic, broker id, group id, ...; "" for the default of brokers."""

    type: ResourceType
    name: str

    def __str__(self) -> str:
        if self.type is ResourceType.BROKER and not self.name:
            return "broker-defaults"
        return f"{self.type.name.lower().replace('_', '-')} {self.name}"

    @property
    def node_id(self) -> int | None:
        """Id of the only broker that can describe the resource; None if any broker can."""
        is_broker = self.type in (ResourceType.BROKER, ResourceType.BROKER_LOGGER) and self.name
        return int(self.name) if is_broker else None


class ConfigEntry(NamedTuple):
    """A property of a resource.

    Attributes:
        value: value as text; None if sensitive or not set.
        source: key of `CONFIG_SOURCES`; -1 if not reported.
        type: key of `CONFIG_TYPES`; 0 if not reported.
        synonyms: (name, value, source) of each source that sets it, the effective one first; empty unless requested.
        documentation: the broker's description; empty unless requested.
    """

    name: str
    value: str | None
    source: int
    is_read_only: bool
    is_sensitive: bool
    synonyms: tuple[tuple[str, str | None, int], ...] = ()
    documentation: str = ""
    type: int = 0


Configs = dict[str, ConfigEntry]


def describe_configs(
    call: Call,
    resources: Sequence[ConfigResource],
    *,
    synonyms: bool,
    documentation: bool,
    keys: Sequence[str] | None = None,
    broker_id: int | None = None,
) -> Results[ConfigResource, Configs]:
    wanted = None if keys is None else list(keys)

    def build(asked: Sequence[ConfigResource]) -> Build:
        entries = [
            DescribeConfigsResource(resource_type=each.type, resource_name=each.name, configuration_keys=wanted)
            for each in asked
        ]
        return lambda _: DescribeConfigsRequest(
            resources=entries, include_synonyms=synonyms, include_documentation=documentation
        )

    behind = BrokersBehind(call)

    def of_any(asked: Sequence[ConfigResource]) -> dict[ConfigResource, Configs | KafkaError]:
        if broker_id is not None:
            return call.ask_items(broker(broker_id), build(asked), DescribeConfigsResponse, asked, _configs_in)
        return ask_brokers(call, asked, build, DescribeConfigsResponse, _configs_in, behind)

    return _of_each(call, resources, build, _configs_in, of_any)


def alter_configs(
    call: Call, changes: Mapping[ConfigResource, Mapping[str, ConfigChange]], *, validate_only: bool
) -> Results[ConfigResource, None]:
    def build(asked: Sequence[ConfigResource]) -> Build:
        entries = [_altering(each, changes[each]) for each in asked]
        return lambda _: IncrementalAlterConfigsRequest(resources=entries, validate_only=validate_only)

    def of_any(asked: Sequence[ConfigResource]) -> dict[ConfigResource, bool | KafkaError]:
        return call.ask_items(any_node, build(asked), IncrementalAlterConfigsResponse, asked, _altered_in)

    return _of_each(call, list(changes), build, _altered_in, of_any).without_values()


def _altering(resource: ConfigResource, changes: Mapping[str, ConfigChange]) -> AlterConfigsResource:
    return AlterConfigsResource(
        resource_type=resource.type,
        resource_name=resource.name,
        configs=[_alterable(name, change) for name, change in changes.items()],
    )


def _alterable(name: str, change: ConfigChange) -> AlterableConfig:
    if isinstance(change, ListChange):
        operation = _SUBTRACT if change.is_removal else _APPEND
        return AlterableConfig(name=name, config_operation=operation, value=change.items)
    return AlterableConfig(name=name, config_operation=_DELETE if change is None else _SET, value=change)


def _of_each(
    call: Call,
    resources: Sequence[ConfigResource],
    build: Callable[[Sequence[ConfigResource]], Build],
    read: Callable[[R], Items[ConfigResource, V]],
    ask_any: Callable[[Sequence[ConfigResource]], dict[ConfigResource, V | KafkaError]],
) -> Results[ConfigResource, V]:
    node_ids = {resource: resource.node_id for resource in resources}

    def attempt(pending: list[ConfigResource]) -> dict[ConfigResource, V | KafkaError]:
        of_node: dict[int | None, list[ConfigResource]] = {}
        for resource in pending:
            of_node.setdefault(node_ids[resource], []).append(resource)
        found: dict[ConfigResource, V | KafkaError] = {}
        of_any = of_node.pop(None, None)
        if of_any:
            found |= ask_any(of_any)
        builds = {node_id: build(asked) for node_id, asked in of_node.items() if node_id is not None}
        answers: Mapping[int, Answer | KafkaError]
        try:
            answers = call.ask_nodes(builds)
        except ApiTimeout as timeout:
            if not found:
                raise
            answers = dict.fromkeys(builds, timeout)
        for node_id, answer in answers.items():
            if isinstance(answer, KafkaError) and call.client.metadata.cluster.node(node_id) is None:
                answer = not_registered(node_id)
            found |= call.items(answer, of_node[node_id], read)
        return found

    return call.each(resources, attempt, ADMIN_GROUPS.is_retried)


def _altered_in(response: IncrementalAlterConfigsResponse) -> Iterator[tuple[ConfigResource, bool | KafkaError]]:
    for result in response.responses:
        if result.resource_type in set(ResourceType):
            resource = ConfigResource(ResourceType(result.resource_type), result.resource_name)
            what = f"alter configs of {resource}"
            yield resource, broker_error(result.error_code, what, result.error_message) if result.error_code else True


def _configs_in(response: DescribeConfigsResponse) -> Iterator[tuple[ConfigResource, Configs | KafkaError]]:
    for result in response.results:
        if result.resource_type not in set(ResourceType):
            continue
        resource = ConfigResource(ResourceType(result.resource_type), result.resource_name)
        what = f"describe configs of {resource}"
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
        entry.config_type,
    )
