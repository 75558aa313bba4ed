"""DescribeConfigs: properties of a resource and their sources. Brokers describe only themselves."""

from collections.abc import Iterator
from typing import NamedTuple

from kctl.client.broker_errors import ErrorCode
from kctl.client.protocol.api.configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
    DescribeConfigsSynonym,
)
from kctl.sandbox.call import Call, Handler
from kctl.sandbox.configs import DEFAULTS, Kind

_OF_TOPIC, _OF_BROKER, _OF_ALL_BROKERS, _OF_FILE, _DEFAULT, _OF_METRICS, _OF_GROUP = 1, 2, 3, 4, 5, 7, 8
_BOOLEAN, _STRING, _LONG = 1, 2, 5
_FIXED = ("node.id", "advertised.listeners")
_RETENTION_HOURS = "log.retention.hours"
_HOUR_MS = 3_600_000
_SYNONYMS: dict[str, str | None] = {
    "delete.retention.ms": "log.cleaner.delete.retention.ms",
    "file.delete.delay.ms": "log.segment.delete.delay.ms",
    "flush.messages": "log.flush.interval.messages",
    "max.compaction.lag.ms": "log.cleaner.max.compaction.lag.ms",
    "max.message.bytes": "message.max.bytes",
    "min.cleanable.dirty.ratio": "log.cleaner.min.cleanable.ratio",
    "min.compaction.lag.ms": "log.cleaner.min.compaction.lag.ms",
    "segment.index.bytes": "log.index.size.max.bytes",
    **{name: name for name in ("min.insync.replicas", "unclean.leader.election.enable")},
    **{f"compression.{name}": f"compression.{name}" for name in ("type", "gzip.level", "lz4.level", "zstd.level")},
    "retention.ms": _RETENTION_HOURS,
    **dict.fromkeys(("flush.ms", "segment.ms", "segment.jitter.ms")),
    **dict.fromkeys(("leader.replication.throttled.replicas", "follower.replication.throttled.replicas")),
    **dict.fromkeys(("remote.log.copy.disable", "remote.log.delete.on.disable", "remote.storage.enable")),
}
"""Broker property with the default of each topic config, or None if there is none. Other configs use `log.NAME`."""
_OWN_SOURCE = {Kind.TOPIC: _OF_TOPIC, Kind.GROUP: _OF_GROUP, Kind.CLIENT_METRICS: _OF_METRICS}


class _Place(NamedTuple):
    value: str
    source: int


def _answer(call: Call, request: DescribeConfigsRequest) -> DescribeConfigsResponse:
    return DescribeConfigsResponse(results=[_result(call, request, resource) for resource in request.resources])


def _result(call: Call, request: DescribeConfigsRequest, resource: DescribeConfigsResource) -> DescribeConfigsResult:
    kind, name = resource.resource_type, resource.resource_name
    result = DescribeConfigsResult(resource_type=kind, resource_name=name)
    refusal = _refusal(call, kind, name)
    if refusal is not None:
        result.error_code, result.error_message = refusal
        return result
    wanted = resource.configuration_keys or None
    result.configs = [
        _entry(request, Kind(kind), property_name, places)
        for property_name, places in _properties(call, Kind(kind), name)
        if wanted is None or property_name in wanted
    ]
    return result


def _entry(
    request: DescribeConfigsRequest, kind: Kind, name: str, places: list[_Place]
) -> DescribeConfigsResourceResult:
    value, source = places[0]
    synonyms = [found for each in places if (found := _synonym(kind, name, each)) is not None]
    default = DEFAULTS[kind].get(name, value)
    number = _LONG if default.lstrip("-").isdigit() else _STRING
    return DescribeConfigsResourceResult(
        name=name,
        value=value,
        read_only=name in _FIXED,
        config_source=source,
        synonyms=synonyms if request.include_synonyms else [],
        config_type=_BOOLEAN if default in ("true", "false") else number,
    )


def _synonym(kind: Kind, name: str, place: _Place) -> DescribeConfigsSynonym | None:
    value, source = place
    found = _SYNONYMS.get(name, f"log.{name}") if kind is Kind.TOPIC and source == _DEFAULT else name
    if found is None:
        return None
    if found == _RETENTION_HOURS:
        value = str(int(value) // _HOUR_MS)
    return DescribeConfigsSynonym(name=found, value=value, source=source)


def _refusal(call: Call, kind: int, name: str) -> tuple[ErrorCode, str] | None:
    if kind not in set(Kind):
        return ErrorCode.INVALID_REQUEST, f"no configuration for resources of type {kind}"
    own_id = str(call.node.node_id)
    if kind == Kind.BROKER and name not in ("", own_id):
        text = f"Unexpected broker id, expected {own_id} or empty string, but received {name}"
        return ErrorCode.INVALID_REQUEST, text
    if kind == Kind.TOPIC and name not in call.cluster.topics:
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ""
    return None


def _properties(call: Call, kind: Kind, name: str) -> Iterator[tuple[str, list[_Place]]]:
    configs = call.cluster.configs
    if kind is Kind.TOPIC:
        layers = [(call.cluster.topics[name].properties, _OF_TOPIC)]
        of_brokers = (str(call.node.node_id), _OF_BROKER), ("", _OF_ALL_BROKERS)
        layers += [(configs.of(Kind.BROKER, broker), source) for broker, source in of_brokers]
    elif kind is Kind.BROKER:
        layers = [(configs.of(kind, name), _OF_BROKER)] if name else []
        layers.append((configs.of(kind, ""), _OF_ALL_BROKERS))
        if name:
            yield "node.id", [_Place(name, _OF_FILE)]
            yield "advertised.listeners", [_Place(f"PLAINTEXT://{call.node.host}:{call.node.port}", _OF_FILE)]
            layers.append(({"message.max.bytes": str(call.cluster.settings.message_max_bytes)}, _OF_FILE))
    else:
        layers = [(configs.of(kind, name), _OWN_SOURCE[kind])]
    only_set = kind is Kind.CLIENT_METRICS or (kind is Kind.BROKER and not name)
    for each, default in DEFAULTS[kind].items():
        places = [_Place(layer[each], source) for layer, source in layers if each in layer]
        if not only_set:
            places.append(_Place(default, _DEFAULT))
        if places:
            yield each, places


HANDLER = Handler(DescribeConfigsRequest, 1, 4, _answer)
