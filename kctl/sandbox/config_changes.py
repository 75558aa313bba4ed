"""Checks and storage of config changes."""

from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

from kctl.client.broker_errors import ErrorCode
from kctl.sandbox.call import Call
from kctl.sandbox.configs import DEFAULTS, MIN_INSYNC_REPLICAS, Kind
from kctl.sandbox.settings import InvalidSetting, check_number, topic_settings


class ChangeRefused(Exception):
    """Rejected change of a resource; `code` is sent to the client."""

    def __init__(self, code: ErrorCode, text: str) -> None:
        super().__init__(text)
        self.code = code


class NamedConfig(Protocol):
    """Property in a request."""

    @property
    def name(self) -> str: ...


class NamedResource(Protocol):
    """Resource in a request."""

    @property
    def resource_type(self) -> int: ...
    @property
    def resource_name(self) -> str: ...
    @property
    def configs(self) -> Sequence[NamedConfig]: ...


A = TypeVar("A", bound=NamedResource)
R = TypeVar("R")


def altered(resources: Sequence[A], alter: Callable[[A], None], response_of: Callable[..., R]) -> list[R]:
    """Alter the resources of a request, and return a response for each resource."""
    return [
        response_of(
            error_code=code,
            error_message=message,
            resource_type=resource.resource_type,
            resource_name=resource.resource_name,
        )
        for resource in resources
        for code, message in [_outcome_of(resource, resources, alter)]
    ]


def _outcome_of(resource: A, resources: Sequence[A], alter: Callable[[A], None]) -> tuple[int, str | None]:
    try:
        same = [each for each in resources if _key(each) == _key(resource)]
        if len(same) > 1:
            raise ChangeRefused(ErrorCode.INVALID_REQUEST, "Each resource must appear at most once.")
        alter(resource)
    except ChangeRefused as error:
        return error.code, str(error)
    except InvalidSetting as error:
        return ErrorCode.INVALID_CONFIG, str(error)
    return ErrorCode.NONE, None


def _key(resource: NamedResource) -> tuple[int, str]:
    return resource.resource_type, resource.resource_name


def check_resource(call: Call, resource: NamedResource) -> tuple[Kind, str]:
    """Return the kind and name of a resource, or raise ChangeRefused."""
    name = resource.resource_name
    if resource.resource_type not in set(Kind):
        raise ChangeRefused(ErrorCode.INVALID_REQUEST, f"Unknown resource type {resource.resource_type}")
    kind = Kind(resource.resource_type)
    if kind is Kind.TOPIC and name not in call.cluster.topics:
        raise ChangeRefused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"The topic '{name}' does not exist.")
    if kind is Kind.BROKER and name not in ("", str(call.node.node_id)):
        raise ChangeRefused(
            ErrorCode.INVALID_REQUEST, f"Unexpected broker id, expected {call.node.node_id}, received {name}"
        )
    names = [each.name for each in resource.configs]
    if len(set(names)) < len(names):
        raise ChangeRefused(ErrorCode.INVALID_REQUEST, "Error due to duplicate config keys")
    return kind, name


def given_value(name: str, value: str | None) -> str:
    if value is None:
        raise ChangeRefused(ErrorCode.INVALID_REQUEST, f"Null value not supported for : {name}")
    return value


def store(call: Call, kind: Kind, name: str, properties: dict[str, str], *, validate_only: bool) -> None:
    """Replace all properties of a resource, or raise InvalidSetting."""
    if kind is Kind.TOPIC:
        topic_settings(properties, call.cluster.settings)
        if not validate_only:
            call.cluster.configure_topic(name, properties)
        return
    for each, value in properties.items():
        if each not in DEFAULTS[kind]:
            raise InvalidSetting(f"Unknown {kind.name.lower()} config name: {each}")
        check_number(each, value, DEFAULTS[kind][each])
    if (kind, name) == (Kind.BROKER, "") and MIN_INSYNC_REPLICAS not in properties:
        raise InvalidSetting(f"Cluster-level {MIN_INSYNC_REPLICAS} cannot be removed while ELR is enabled.")
    if not validate_only:
        call.cluster.configs.replace(kind, name, properties)
