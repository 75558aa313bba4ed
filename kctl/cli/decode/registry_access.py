"""Schema registry client of a command, with its timeouts and schema cache."""

from typing import NamedTuple

from kctl.cli.options import Common
from kctl.client.config import AdminConfig, RegistryConfig
from kctl.serdes.registry import SchemaRegistry
from kctl.serdes.schema_store import SchemaStore
from kctl.serdes.system_registry import open_system_registry

NO_CLUSTER = {"bootstrap.servers": "unused:9092"}
"""Placeholder for bootstrap servers, to parse the timeouts of client properties."""


class RegistryAccess(NamedTuple):
    """Registry client and its schema store."""

    registry: SchemaRegistry
    store: SchemaStore


def has_registry(common: Common) -> bool:
    return RegistryConfig.schema_registry_url.name in common.settings.by_name


def open_registry(common: Common, *, one_timeout: bool = False) -> RegistryAccess:
    """Return the registry that the settings name.

    Args: one_timeout: all calls share one API timeout.
    Raises: ConfigError: the URL is missing, or a setting is invalid.
    """
    clock = common.environment.clock
    known = RegistryConfig.names()
    of_registry = {name: each for name, each in common.settings.by_name.items() if name in known}
    config = common.settings._replace(by_name=of_registry).parse(RegistryConfig)
    limits = common.settings.with_defaults(NO_CLUSTER).parse(AdminConfig)
    registry = open_system_registry(config, limits, clock, one_timeout=one_timeout)
    if common.environment.resources is not None:
        common.environment.resources.callback(registry.close)
    return RegistryAccess(registry, SchemaStore(registry, clock))
