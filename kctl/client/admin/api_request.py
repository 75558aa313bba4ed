"""One JSON request of any declared API.

It is sent once, because a retry may not be safe. If a coordinator rejects all of it, it is sent to the new coordinator.
"""

from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple

from kctl.client.admin.call import Call, Route, any_node, controller
from kctl.client.admin.call import broker as to_broker
from kctl.client.admin.coordinators import coordinator_of
from kctl.client.admin.topics import describe_topics
from kctl.client.broker_errors import ErrorCode, broker_error
from kctl.client.cluster import TopicInfo
from kctl.client.errors import KafkaError, RemoteProtocolError, UnsupportedVersionError
from kctl.client.protocol.api import API_NAMES, api_key_of, declared_keys, request_class
from kctl.client.protocol.api.api_versions import ApiVersionsRequest
from kctl.client.protocol.api.metadata import MetadataResponse
from kctl.client.protocol.json_form import JsonFormError, folded, from_json, to_json
from kctl.client.protocol.schema import Request, Response, Struct
from kctl.client.protocol.versions import NodeVersions
from kctl.client.requests.find_coordinator import KeyType
from kctl.client.requests.retry import ELSEWHERE
from kctl.client.requests.topics import described_topics, metadata_by_id_request
from kctl.version import VERSION

CONTROLLER = {
    "AlterPartitionReassignments", "AlterUserScramCredentials", "CreatePartitions", "CreateTopics", "DeleteTopics",
    "ElectLeaders", "ListPartitionReassignments", "UnregisterBroker", "UpdateFeatures",
}  # fmt: skip
"""APIs that only the controller handles in clusters without KRaft."""
WITHOUT_SOFTWARE = (0, 1, 2)
"""Versions of ApiVersions without the client's software name, which later versions require."""
COORDINATORS = {
    KeyType.GROUP: {
        "AlterShareGroupOffsets", "ConsumerGroupDescribe", "ConsumerGroupHeartbeat", "DeleteGroups",
        "DeleteShareGroupOffsets", "DescribeGroups", "DescribeShareGroupOffsets", "Heartbeat", "JoinGroup",
        "LeaveGroup", "OffsetCommit", "OffsetDelete", "OffsetFetch", "ShareGroupDescribe", "ShareGroupHeartbeat",
        "StreamsGroupDescribe", "StreamsGroupHeartbeat", "SyncGroup", "TxnOffsetCommit",
    },
    KeyType.TRANSACTION: {
        "AddOffsetsToTxn", "AddPartitionsToTxn", "DescribeTransactions", "EndTxn", "InitProducerId",
    },
}  # fmt: skip
LEADER = {
    "DeleteRecords", "DescribeProducers", "Fetch", "ListOffsets", "OffsetForLeaderEpoch", "Produce", "ShareAcknowledge",
    "ShareFetch",
}  # fmt: skip
_NOT_TAKEN = ELSEWHERE | {ErrorCode.COORDINATOR_LOAD_IN_PROGRESS}
"""Codes of a coordinator that has not carried out any part of the request."""
BROKER_RESOURCES = (4, 8)
"""Kafka's numbers of config resource types that only the broker itself can describe or change."""


class ApiDescription(NamedTuple):
    """An API that kctl supports. Attributes: versions: first and last supported version."""

    name: str
    api_key: int
    versions: tuple[int, int]


class ApiResponse(NamedTuple):
    """Response of a broker.

    Attributes:
        broker: broker id; None for a bootstrap server, whose id is unknown.
        errors: errors in the response, in order.
        has_successes: whether a part of the response has no error.
    """

    name: str
    version: int
    broker: int | None
    fields: dict[str, object]
    errors: tuple[KafkaError, ...]
    has_successes: bool


def declared_apis() -> list[ApiDescription]:
    return [
        ApiDescription(API_NAMES[key], key, (int(kind.VALID_VERSIONS[0]), int(kind.VALID_VERSIONS[1])))
        for key in declared_keys()
        for kind in [request_class(key)]
    ]


def request_api(
    call: Call, name: str, fields: Mapping[str, object], *, broker: int | None, version: int | None
) -> ApiResponse:
    """Send one request and return its response; errors are as in `Admin.request_api`."""
    key = api_key_of(name)
    if key is None:
        raise ValueError("Kafka has no client API with this name")
    kind = request_class(key)
    first, last = kind.VALID_VERSIONS
    if version is not None and not first <= version <= last:
        raise ValueError(f"invalid version {version}: use {first} to {last}")
    if kind is ApiVersionsRequest and version not in WITHOUT_SOFTWARE:
        software = {"ClientSoftwareName": "kctl", "ClientSoftwareVersion": VERSION}
        given = set(map(folded, fields))
        fields = {**{name: text for name, text in software.items() if folded(name) not in given}, **fields}
    request, newest = _newest_form(kind, fields, version)
    if kind.NAME == "Produce" and getattr(request, "acks", None) == 0:
        raise ValueError("acks must not be 0, because the broker does not respond to requests with acks=0")
    sets_timeout = "timeoutms" not in map(folded, fields)
    while True:
        node_id = call.ready_broker(_route(call, request) if broker is None else to_broker(broker))
        chosen = _chosen_version(call, node_id, kind, newest, version)
        response = _ask_once(call, node_id, from_json(kind, dict(fields), chosen), chosen, sets_timeout=sets_timeout)
        codes = _error_codes(response)
        if broker is not None or not all(code in _NOT_TAKEN for code, _ in codes) or not codes:
            break
        call.pause(broker_error(codes[0][0], f"complete {kind.NAME}"))
    return ApiResponse(
        kind.NAME,
        chosen,
        node_id if node_id >= 0 else None,
        to_json(response, chosen),
        tuple(broker_error(code, f"complete {kind.NAME}", message) for code, message in codes if code),
        any(not code for code, _ in codes),
    )


def _chosen_version(call: Call, node_id: int, kind: type[Request], newest: int, version: int | None) -> int:
    versions = call.client.network.versions(node_id)
    chosen = (NodeVersions({}) if versions is None else versions).choose(kind, newest)
    if version is not None and chosen != version:
        text = f"cannot send {kind.NAME} version {version}: {call.name_of(node_id)} supports up to version {chosen}"
        raise UnsupportedVersionError(text, api=kind.NAME)
    return chosen


def _newest_form(kind: type[Request], fields: Mapping[str, object], version: int | None) -> tuple[Request, int]:
    """Return the request in the given version, or in the newest version that has all the fields."""
    first, last = kind.VALID_VERSIONS
    mistake: JsonFormError | None = None
    for each in range(last, first - 1, -1) if version is None else [version]:
        try:
            return from_json(kind, dict(fields), each), each
        except JsonFormError as error:
            mistake = mistake or error
    assert mistake is not None
    raise mistake


def _ask_once(call: Call, node_id: int, request: Any, version: int, *, sets_timeout: bool) -> Response:
    def build(timeout_ms: int) -> Request:
        if sets_timeout and hasattr(request, "timeout_ms"):
            request.timeout_ms = timeout_ms
        built: Request = request
        return built

    answer = call.ask_once(node_id, build, request.NAME, max_version=version)
    if answer.response is None:
        call.timer.update()
        # the timeout of the request was the time left of the call
        node = call.client.network.node(node_id)
        call.wait_until(lambda: not call.timer.is_expired, f"waiting for the {request.NAME} response from {node}")
        raise answer.error or RemoteProtocolError(f"no response to the {request.NAME} request", api=request.NAME)
    return answer.response


# --- which broker -----------------------------------------------------------------------------------------------------


def _route(call: Call, request: Request) -> Route:
    for key_type, names in COORDINATORS.items():
        key = _first_text(request, _KEYS[key_type]) if request.NAME in names else None
        if key:
            return to_broker(coordinator_of(call, key_type, key))
    if request.NAME in LEADER:
        partition = _first_partition(request)
        if partition is not None:
            return to_broker(_leader(call, *partition))
    for resource in getattr(request, "resources", ()):
        if resource.resource_type in BROKER_RESOURCES and resource.resource_name.isdecimal():
            return to_broker(int(resource.resource_name))
    return controller if request.NAME in CONTROLLER else any_node


_KEYS = {
    KeyType.GROUP: ("group_id", "group_ids", "groups", "groups_names"),
    KeyType.TRANSACTION: ("transactional_id", "v3_and_below_transactional_id", "transactional_ids", "transactions"),
}


def _first_text(message: Struct, names: tuple[str, ...]) -> str | None:
    for name in names:
        value: Any = getattr(message, name, None)
        if isinstance(value, list) and value:
            value = value[0]
        if isinstance(value, Struct):
            value = _first_text(value, names)
        if isinstance(value, str) and value:
            return value
    return None


def _first_partition(message: Struct) -> tuple[str | bytes, int] | None:
    for topic in getattr(message, "topics", None) or getattr(message, "topic_data", None) or ():
        name = getattr(topic, "name", None) or getattr(topic, "topic", None) or getattr(topic, "topic_id", None)
        for field in ("partitions", "partition_data", "partition_indexes"):
            for each in getattr(topic, field, None) or ():
                number = each
                for part in ("partition_index", "partition", "index"):
                    number = getattr(each, part, number)
                if name and isinstance(number, int):
                    return name, number
    return None


def _leader(call: Call, topic: str | bytes, partition: int) -> int:
    info = describe_topics(call, [topic])[topic] if isinstance(topic, str) else _topic_of_id(call, topic)
    place = f"{info.name}-{partition}"
    found = info.partitions.get(partition)
    if found is None:
        raise broker_error(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"find {place}")
    if found.leader_id < 0:
        raise broker_error(ErrorCode.LEADER_NOT_AVAILABLE, f"find the leader of {place}")
    return found.leader_id


def _topic_of_id(call: Call, topic_id: bytes) -> TopicInfo:
    response = call.ask(any_node, lambda _: metadata_by_id_request([topic_id]), MetadataResponse)
    described = described_topics(response, "a broker")
    if isinstance(described, KafkaError):
        raise described
    [info] = described
    if info.error is not None:
        raise info.error
    return info


def _error_codes(message: Struct) -> list[tuple[int, str | None]]:
    """Return code and message of each part of the response; a part with nested codes appears only if it failed."""
    found: list[tuple[int, str | None]] = []
    for name, is_array in _parts_with_codes(type(message)):
        value = getattr(message, name)
        for item in value if is_array else [value]:
            if item is not None:
                found += _error_codes(item)
    code = getattr(message, "error_code", None)
    if code or (code == 0 and not found):
        found.insert(0, (code, getattr(message, "error_message", None)))
    return found


@cache
def _parts_with_codes(kind: type[Struct]) -> tuple[tuple[str, bool], ...]:
    return tuple(
        (entry.name, entry.is_array)
        for entry in kind.FIELDS
        if isinstance(entry.kind, type)
        and ("error_code" in {field.name for field in entry.kind.FIELDS} or _parts_with_codes(entry.kind))
    )
