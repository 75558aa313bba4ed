"""Permissions that each API requires. Source: KafkaApis."""

from collections.abc import Callable, Iterable, Iterator
from itertools import compress
from typing import Any, NamedTuple

from kctl.client.acls import CLUSTER_NAME, AclOperation, AclResourceType
from kctl.client.broker_errors import ErrorCode
from kctl.client.protocol.api.topics import DescribeTopicPartitionsResponseTopic
from kctl.client.protocol.schema import ZERO_UUID
from kctl.sandbox.call import Call

_T, _O = AclResourceType, AclOperation
REFUSALS = {
    _T.TOPIC: ErrorCode.TOPIC_AUTHORIZATION_FAILED,
    _T.GROUP: ErrorCode.GROUP_AUTHORIZATION_FAILED,
    _T.CLUSTER: ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
    _T.TRANSACTIONAL_ID: ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
}
_HIDDEN = "The group has described topic(s) that the client is not authorized to describe."
_HIDDEN_OF_STREAMS = "The described group uses topics that the client is not authorized to describe."
_DESCRIBES_ITS_CONFIG_FROM = 5
_MANY_KEYS_FROM = 4
_VERIFIES_FROM = 4


class Of(NamedTuple):
    """Permission: an operation on a resource, by default the cluster."""

    kind: AclResourceType
    operation: AclOperation
    name: str | None = CLUSTER_NAME

    def is_given(self, call: Call) -> bool:
        """Return whether the client has the permission. True if there is no resource name."""
        name = self.name
        return name is None or call.cluster.authorizer.allows(call.identity.principal, self.operation, self.kind, name)


class Items(NamedTuple):
    """Array of a request whose items are authorized separately by `right`."""

    array: str
    right: Callable[[Call, Any, Any], "Of | ErrorCode | None"]


class Demand(NamedTuple):
    """Permissions that one API requires.

    Attributes:
        whole: permissions for the request. The first missing one rejects the request.
        items: arrays whose items are authorized separately.
        censor: removes parts of a response that the client may not see.
    """

    whole: Callable[[Call, Any], Iterable["Of | ErrorCode"]] = lambda _call, _request: ()
    items: tuple[Items, ...] = ()
    censor: Callable[[Call, Any, Any], None] | None = None


# --- names ------------------------------------------------------------------------------------------------------------


def _topic_name(call: Call, item: Any) -> str | None:
    if isinstance(item, str):
        return item
    topic_id = getattr(item, "topic_id", ZERO_UUID)
    if topic_id != ZERO_UUID:
        topic = call.cluster.topic_of_id(topic_id)
        return None if topic is None else topic.name
    named = (getattr(item, field, None) for field in ("name", "topic", "topic_name"))
    name: str | None = next(filter(None, named), None)
    return name


def _topics(operation: AclOperation, array: str = "topics") -> Items:
    return Items(array, lambda call, _, item: Of(_T.TOPIC, operation, _topic_name(call, item)))


def _names(kind: AclResourceType, operation: AclOperation, array: str, field: str = "") -> Items:
    return Items(array, lambda _call, _, item: Of(kind, operation, getattr(item, field) if field else item))


def _group(operation: AclOperation) -> Callable[[Call, Any], Iterable[Of]]:
    return lambda _, request: [Of(_T.GROUP, operation, request.group_id)]


def _cluster(operation: AclOperation) -> Callable[[Call, Any], Iterable[Of]]:
    return lambda _call, _request: [Of(_T.CLUSTER, operation)]


def _transaction(operation: AclOperation) -> Callable[[Call, Any], Iterable[Of]]:
    return lambda _, request: [Of(_T.TRANSACTIONAL_ID, operation, request.transactional_id)]


def _transaction_and_group(_: Call, request: Any) -> Iterable[Of]:
    yield Of(_T.TRANSACTIONAL_ID, _O.WRITE, request.transactional_id)
    yield Of(_T.GROUP, _O.READ, request.group_id)


# --- requests with several permissions --------------------------------------------------------------------------------


def _initialise(call: Call, request: Any) -> Iterable[Of | ErrorCode]:
    if request.transactional_id is not None:
        yield Of(_T.TRANSACTIONAL_ID, _O.WRITE, request.transactional_id)
    elif not call.cluster.authorizer.allows_some(call.identity.principal, _O.WRITE, _T.TOPIC):
        yield Of(_T.CLUSTER, _O.IDEMPOTENT_WRITE)


def _add_partitions(call: Call, request: Any) -> Iterable[Of]:
    if call.version >= _VERIFIES_FROM:
        yield Of(_T.CLUSTER, _O.CLUSTER_ACTION)
    else:
        yield Of(_T.TRANSACTIONAL_ID, _O.WRITE, request.v3_and_below_transactional_id)


def _produce(_: Call, request: Any) -> Iterable[Of]:
    if request.transactional_id is not None:
        yield Of(_T.TRANSACTIONAL_ID, _O.WRITE, request.transactional_id)


def _heartbeat(_: Call, request: Any) -> Iterable[Of]:
    yield Of(_T.GROUP, _O.READ, request.group_id)
    for topic in request.subscribed_topic_names or ():
        yield Of(_T.TOPIC, _O.DESCRIBE, topic)


def _share_reads(_: Call, request: Any) -> Iterable[Of]:
    yield Of(_T.GROUP, _O.READ, request.group_id or "")


def _streams_heartbeat(_: Call, request: Any) -> Iterable[Of]:
    yield Of(_T.GROUP, _O.READ, request.group_id)
    for topic in _topics_of_topology(request):
        yield Of(_T.TOPIC, _O.DESCRIBE, topic)


def _topics_of_topology(owner: Any) -> Iterator[str]:
    for part in () if owner.topology is None else owner.topology.subtopologies or ():
        yield from (*part.source_topics, *part.repartition_sink_topics)
        yield from (each.name for each in (*part.repartition_source_topics, *part.state_changelog_topics))


def _coordinated(key_type: int, key: str) -> Of:
    return Of(_T.GROUP if key_type == 0 else _T.TRANSACTIONAL_ID, _O.DESCRIBE, key)


def _find_coordinator(call: Call, request: Any) -> Iterable[Of]:
    if call.version < _MANY_KEYS_FROM:
        yield _coordinated(request.key_type, request.key)


def _described_topic(call: Call, request: Any, item: Any) -> Of | None:
    name = _topic_name(call, item)
    seen = Of(_T.TOPIC, _O.DESCRIBE, name)
    may_create = call.cluster.settings.auto_create_topics_enable and (
        call.version < 4 or request.allow_auto_topic_creation
    )
    if not seen.is_given(call) or name is None or name in call.cluster.topics or not may_create:
        return seen
    return None if Of(_T.CLUSTER, _O.CREATE).is_given(call) else Of(_T.TOPIC, _O.CREATE, name)


def _created_topic(call: Call, _: Any, item: Any) -> Of | None:
    return None if Of(_T.CLUSTER, _O.CREATE).is_given(call) else Of(_T.TOPIC, _O.CREATE, item.name)


def _configured(of_topics: AclOperation) -> Items:
    kinds = {2: _T.TOPIC, 32: _T.GROUP}

    def right(_call: Call, _request: Any, item: Any) -> Of:
        kind = kinds.get(item.resource_type, _T.CLUSTER)
        return Of(kind, of_topics, CLUSTER_NAME if kind is _T.CLUSTER else item.resource_name)

    return Items("resources", right)


# --- responses --------------------------------------------------------------------------------------------------------


def _is_visible(call: Call, kind: AclResourceType, name: str | None) -> bool:
    return Of(kind, _O.DESCRIBE, name).is_given(call)


def _see_topics(call: Call, request: Any, response: Any) -> None:
    authorizer, principal = call.cluster.authorizer, call.identity.principal
    response.topics = [each for each in response.topics if each.error_code or _is_visible(call, _T.TOPIC, each.name)]
    for topic in response.topics if request.include_topic_authorized_operations else ():
        if not topic.error_code:
            topic.topic_authorized_operations = authorizer.operations(principal, _T.TOPIC, topic.name)
    if request.include_cluster_authorized_operations and Of(_T.CLUSTER, _O.DESCRIBE).is_given(call):
        response.cluster_authorized_operations = authorizer.operations(principal, _T.CLUSTER, CLUSTER_NAME)


def _see_topic_partitions(call: Call, request: Any, response: Any) -> None:
    """Omit denied topics. If the request lists topics, return an error for them."""
    authorizer, principal = call.cluster.authorizer, call.identity.principal
    hidden = [each for each in response.topics if not _is_visible(call, _T.TOPIC, each.name)]
    response.topics = [each for each in response.topics if each not in hidden]
    for topic in response.topics:
        topic.topic_authorized_operations = authorizer.operations(principal, _T.TOPIC, topic.name)
    kind, code = DescribeTopicPartitionsResponseTopic, ErrorCode.TOPIC_AUTHORIZATION_FAILED
    response.topics += [kind(error_code=code, name=each.name) for each in hidden if request.topics]


def _see_cluster(call: Call, request: Any, response: Any) -> None:
    if request.include_cluster_authorized_operations:
        principal, is_given = call.identity.principal, Of(_T.CLUSTER, _O.DESCRIBE).is_given(call)
        found = call.cluster.authorizer.operations(principal, _T.CLUSTER, CLUSTER_NAME) if is_given else 0
        response.cluster_authorized_operations = found


def _see_operations_of_groups(call: Call, request: Any, response: Any) -> None:
    for group in response.groups if getattr(request, "include_authorized_operations", False) else ():
        if not group.error_code:
            principal = call.identity.principal
            found = call.cluster.authorizer.operations(principal, _T.GROUP, group.group_id)
            group.authorized_operations = found


def _see_topics_of_groups(topics_of: Callable[[Any], Iterable[str]], message: str) -> Callable[[Call, Any, Any], None]:
    def see(call: Call, request: Any, response: Any) -> None:
        _see_operations_of_groups(call, request, response)
        for at, group in enumerate(response.groups):
            if not all(_is_visible(call, _T.TOPIC, topic) for topic in dict.fromkeys(topics_of(group))):
                code = ErrorCode.TOPIC_AUTHORIZATION_FAILED
                response.groups[at] = type(group)(group_id=group.group_id, error_code=code, error_message=message)

    return see


def _assigned_topics(group: Any) -> Iterator[str]:
    for member in group.members:
        for assignment in (member.assignment, getattr(member, "target_assignment", None)):
            yield from (each.topic_name for each in (() if assignment is None else assignment.topic_partitions))


def _see_groups(call: Call, _: Any, response: Any) -> None:
    if not Of(_T.CLUSTER, _O.DESCRIBE).is_given(call):
        response.groups = [each for each in response.groups if _is_visible(call, _T.GROUP, each.group_id)]


def _see_transactions(call: Call, _: Any, response: Any) -> None:
    kind = _T.TRANSACTIONAL_ID
    states = response.transaction_states
    response.transaction_states = [each for each in states if _is_visible(call, kind, each.transactional_id)]


def _see_topics_of_transactions(call: Call, _: Any, response: Any) -> None:
    for state in response.transaction_states:
        state.topics = [each for each in state.topics if _is_visible(call, _T.TOPIC, each.topic)]


def _see_share_offsets(call: Call, request: Any, response: Any) -> None:
    lists_all = {each.group_id for each in request.groups if each.topics is None}
    for group in response.groups:
        hidden = [each for each in group.topics if not _is_visible(call, _T.TOPIC, each.topic_name)]
        if group.group_id in lists_all:
            group.topics = [each for each in group.topics if each not in hidden]
            continue
        for topic in hidden:
            topic.topic_id = ZERO_UUID
            for each in topic.partitions:
                each.start_offset, each.leader_epoch, each.lag = -1, 0, -1
                each.error_code, each.error_message = (
                    ErrorCode.TOPIC_AUTHORIZATION_FAILED,
                    "Topic authorization failed.",
                )


def _see_offsets(call: Call, request: Any, response: Any) -> None:
    asked = {each.group_id: each.topics for each in request.groups}
    parts = [(asked.get(group.group_id), group) for group in response.groups]
    for wanted, part in [*parts, (request.topics, response)]:
        visible = [_is_visible(call, _T.TOPIC, _topic_name(call, each)) for each in part.topics]
        if wanted is None:
            part.topics = list(compress(part.topics, visible))
            continue
        for topic, is_visible in zip(part.topics, visible, strict=True):
            for each in () if is_visible else topic.partitions:
                each.committed_offset, each.committed_leader_epoch, each.metadata = -1, -1, ""
                each.error_code = ErrorCode.TOPIC_AUTHORIZATION_FAILED


def _see_new_topics(call: Call, _: Any, response: Any) -> None:
    for topic in response.topics if call.version >= _DESCRIBES_ITS_CONFIG_FROM else ():
        if not topic.error_code and not Of(_T.TOPIC, _O.DESCRIBE_CONFIGS, topic.name).is_given(call):
            topic.topic_config_error_code = ErrorCode.TOPIC_AUTHORIZATION_FAILED
            topic.num_partitions = topic.replication_factor = -1
            topic.configs = []


def _nothing(_call: Call, _request: Any) -> Iterable[Of]:
    return ()


OPEN = Demand(_nothing)
DEMANDS: dict[str, Demand] = {
    "ApiVersions": OPEN,
    "SaslHandshake": OPEN,
    "SaslAuthenticate": OPEN,
    "GetTelemetrySubscriptions": OPEN,
    "PushTelemetry": OPEN,
    "Fetch": OPEN,  # partition_read.py checks each partition: a session has more partitions than the request
    "Metadata": Demand(items=(Items("topics", _described_topic),), censor=_see_topics),
    "DescribeTopicPartitions": Demand(censor=_see_topic_partitions),
    "DescribeCluster": Demand(censor=_see_cluster),
    "Produce": Demand(_produce, (_topics(_O.WRITE, "topic_data"),)),
    "ListOffsets": Demand(items=(_topics(_O.DESCRIBE),)),
    "OffsetForLeaderEpoch": Demand(items=(_topics(_O.DESCRIBE),)),
    "DeleteRecords": Demand(items=(_topics(_O.DELETE),)),
    "CreateTopics": Demand(items=(Items("topics", _created_topic),), censor=_see_new_topics),
    "DeleteTopics": Demand(items=(_topics(_O.DELETE), _topics(_O.DELETE, "topic_names"))),
    "CreatePartitions": Demand(items=(_topics(_O.ALTER),)),
    "DescribeConfigs": Demand(items=(_configured(_O.DESCRIBE_CONFIGS),)),
    "ListConfigResources": Demand(_cluster(_O.DESCRIBE_CONFIGS)),
    "AlterConfigs": Demand(items=(_configured(_O.ALTER_CONFIGS),)),
    "IncrementalAlterConfigs": Demand(items=(_configured(_O.ALTER_CONFIGS),)),
    "FindCoordinator": Demand(
        _find_coordinator,
        (Items("coordinator_keys", lambda _, request, item: _coordinated(request.key_type, item)),),
    ),
    "JoinGroup": Demand(_group(_O.READ)),
    "SyncGroup": Demand(_group(_O.READ)),
    "Heartbeat": Demand(_group(_O.READ)),
    "LeaveGroup": Demand(_group(_O.READ)),
    "ConsumerGroupHeartbeat": Demand(_heartbeat),
    "OffsetCommit": Demand(_group(_O.READ), (_topics(_O.READ),)),
    "OffsetFetch": Demand(
        lambda call, request: [] if call.version >= 8 else [Of(_T.GROUP, _O.DESCRIBE, request.group_id)],
        (_names(_T.GROUP, _O.DESCRIBE, "groups", "group_id"),),
        _see_offsets,
    ),
    "OffsetDelete": Demand(_group(_O.DELETE), (_topics(_O.READ),)),
    "ListGroups": Demand(censor=_see_groups),
    "DescribeGroups": Demand(items=(_names(_T.GROUP, _O.DESCRIBE, "groups"),), censor=_see_operations_of_groups),
    "ConsumerGroupDescribe": Demand(
        items=(_names(_T.GROUP, _O.DESCRIBE, "group_ids"),), censor=_see_topics_of_groups(_assigned_topics, _HIDDEN)
    ),
    "DeleteGroups": Demand(items=(_names(_T.GROUP, _O.DELETE, "groups_names"),)),
    "ShareGroupHeartbeat": Demand(_heartbeat),
    "ShareFetch": Demand(_share_reads),  # share_reads.py checks each partition: a session has more than the request
    "ShareAcknowledge": Demand(_share_reads),
    "StreamsGroupHeartbeat": Demand(_streams_heartbeat),
    "ShareGroupDescribe": Demand(
        items=(_names(_T.GROUP, _O.DESCRIBE, "group_ids"),), censor=_see_topics_of_groups(_assigned_topics, _HIDDEN)
    ),
    "StreamsGroupDescribe": Demand(
        items=(_names(_T.GROUP, _O.DESCRIBE, "group_ids"),),
        censor=_see_topics_of_groups(_topics_of_topology, _HIDDEN_OF_STREAMS),
    ),
    "DescribeShareGroupOffsets": Demand(
        items=(_names(_T.GROUP, _O.DESCRIBE, "groups", "group_id"),), censor=_see_share_offsets
    ),
    "AlterShareGroupOffsets": Demand(_group(_O.READ), (_topics(_O.READ),)),
    "DeleteShareGroupOffsets": Demand(_group(_O.DELETE), (_topics(_O.READ),)),
    "WriteTxnMarkers": Demand(_cluster(_O.ALTER)),
    "InitProducerId": Demand(_initialise),
    "AddPartitionsToTxn": Demand(_add_partitions, (_topics(_O.WRITE, "v3_and_below_topics"),)),
    "AddOffsetsToTxn": Demand(_transaction_and_group),
    "TxnOffsetCommit": Demand(_transaction_and_group, (_topics(_O.READ),)),
    "EndTxn": Demand(_transaction(_O.WRITE)),
    "DescribeProducers": Demand(items=(_topics(_O.READ),)),
    "DescribeTransactions": Demand(
        items=(_names(_T.TRANSACTIONAL_ID, _O.DESCRIBE, "transactional_ids"),), censor=_see_topics_of_transactions
    ),
    "ListTransactions": Demand(censor=_see_transactions),
    "DescribeLogDirs": Demand(_cluster(_O.DESCRIBE)),
    "AlterReplicaLogDirs": Demand(_cluster(_O.ALTER)),
    "DescribeQuorum": Demand(_cluster(_O.DESCRIBE)),
    "AlterPartitionReassignments": Demand(_cluster(_O.ALTER)),
    "ElectLeaders": Demand(_cluster(_O.ALTER)),
    "UnregisterBroker": Demand(_cluster(_O.ALTER)),
    "UpdateFeatures": Demand(_cluster(_O.ALTER)),
    "ListPartitionReassignments": Demand(_cluster(_O.DESCRIBE)),
    "DescribeAcls": Demand(_cluster(_O.DESCRIBE)),
    "CreateAcls": Demand(_cluster(_O.ALTER)),
    "DeleteAcls": Demand(_cluster(_O.ALTER)),
    "DescribeUserScramCredentials": Demand(_cluster(_O.DESCRIBE)),
    "AlterUserScramCredentials": Demand(_cluster(_O.ALTER)),
    "DescribeClientQuotas": Demand(_cluster(_O.DESCRIBE_CONFIGS)),
    "AlterClientQuotas": Demand(_cluster(_O.ALTER_CONFIGS)),
}
UNLISTED = Demand(_cluster(_O.ALTER))
"""Permissions of APIs without an entry, which are the strictest."""
