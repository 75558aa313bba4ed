"""Committed offsets of a group: list, change, and delete. Changes require a group without members."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial

from kctl.client.admin.call import Call, Items, Results
from kctl.client.admin.coordinators import Coordinators
from kctl.client.broker_errors import broker_error, code_error
from kctl.client.cluster import TopicPartition, by_topic
from kctl.client.errors import KafkaError, UnsupportedVersionError
from kctl.client.protocol.api.committed_offsets import (
    OffsetCommitResponse,
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
    OffsetDeleteResponse,
    OffsetFetchRequest,
    OffsetFetchResponse,
)
from kctl.client.protocol.schema import Request
from kctl.client.requests.group_offsets import (
    LAST_VERSION_WITH_NAMES,
    Committed,
    OffsetAndMetadata,
    codes_in,
    committed_in,
    committed_of,
    offset_commit,
    offset_fetch,
)
from kctl.client.requests.items import each_once, malformed
from kctl.client.requests.retry import ADMIN_GROUPS

MOST_GROUPS = 500
"""Maximum number of groups in a request, so that responses stay small."""


def list_group_offsets(
    call: Call, group_id: str, partitions: Sequence[TopicPartition] | None, *, require_stable: bool
) -> Results[TopicPartition, OffsetAndMetadata | None]:
    coordinators = Coordinators(call)
    names_groups: list[object] = []
    """Groups of the last request; empty for old versions, which are about one group."""

    def build(node_id: int, _groups: list[str]) -> Request:
        speaks = partial(call.client.network.supports, node_id, OffsetFetchRequest)
        request = offset_fetch(group_id, partitions, speaks, require_stable=require_stable)
        names_groups[:] = request.groups
        return request

    def read(response: OffsetFetchResponse) -> Items[str, Committed]:
        broker = str(coordinators.node(group_id) or "the coordinator")
        if names_groups and not response.groups:
            return malformed("OffsetFetch", broker, f"does not contain group {group_id}")
        found = committed_in(response, group_id, partitions or (), broker)
        if isinstance(found, KafkaError):
            return found
        if partitions is not None:
            found = each_once(found.items(), partitions, "OffsetFetch", broker)
        return [(group_id, _fate(found))]

    found = coordinators.each_group([group_id], build, read, max_version=LAST_VERSION_WITH_NAMES)[group_id]
    asked = sorted(found) if partitions is None else partitions
    failed = {key: fate for key in asked if isinstance(fate := found[key], KafkaError)}
    done = {key: fate for key in asked if not isinstance(fate := found[key], KafkaError)}
    return Results(done, failed)


def list_offsets_of_groups(
    call: Call, group_ids: Sequence[str]
) -> Results[str, Results[TopicPartition, OffsetAndMetadata]]:
    """Return all committed offsets of groups; before Kafka 3.0, with one request for each group."""
    coordinators = Coordinators(call)
    try:
        found = _offsets_of(call, coordinators, group_ids)
    except UnsupportedVersionError:
        if len(group_ids) == 1:
            raise
        found = _one_by_one(call, coordinators, group_ids)
    return Results({group_id: _sorted_out(of) for group_id, of in found.done.items()}, found.failed)


def _one_by_one(call: Call, coordinators: Coordinators, group_ids: Sequence[str]) -> Results[str, Committed]:
    done: dict[str, Committed] = {}
    failed: dict[str, KafkaError] = {}
    for group_id in group_ids:
        try:
            done[group_id] = _offsets_of(call, coordinators, [group_id])[group_id]
        except KafkaError as error:
            failed[group_id] = error
    return Results(done, failed)


def _offsets_of(call: Call, coordinators: Coordinators, group_ids: Sequence[str]) -> Results[str, Committed]:
    """Return all committed offsets. Raises: UnsupportedVersionError: a request can only be about one group."""
    is_named: list[bool] = []
    """Whether each request listed groups; in old versions, a request is about one group."""

    def build(node_id: int, groups: list[str]) -> Request:
        speaks = partial(call.client.network.supports, node_id, OffsetFetchRequest)
        requests = [offset_fetch(each, None, speaks, require_stable=False) for each in groups]
        if len(groups) > 1 and not requests[0].groups:
            raise UnsupportedVersionError(
                f"{call.name_of(node_id)} supports only one group per OffsetFetch request", api=OffsetFetchRequest.NAME
            )
        requests[0].groups = [group for request in requests for group in request.groups]
        is_named[:] = [bool(requests[0].groups)]
        return requests[0]

    def read(response: OffsetFetchResponse) -> Items[str, Committed]:
        if len(response.groups) > len(group_ids) or (not response.groups and any(is_named)):
            named = {str(coordinators.node(group_id)) for group_id in group_ids}
            broker = named.pop() if len(named) == 1 else "a coordinator"
            return malformed(
                "OffsetFetch", broker, f"contains {len(response.groups)} groups instead of {len(group_ids)}"
            )
        if not response.groups:
            return [(group_id, _fate(committed_in(response, group_id, ()))) for group_id in group_ids]
        return [
            (each.group_id, _fate(committed_of(each, each.group_id, (), str(coordinators.node(each.group_id)))))
            for each in response.groups
        ]

    return coordinators.each_group(group_ids, build, read, max_version=LAST_VERSION_WITH_NAMES, most=MOST_GROUPS)


def _fate(found: Committed | KafkaError) -> Committed | KafkaError:
    if isinstance(found, KafkaError):
        return found
    retried = (each for each in found.values() if isinstance(each, KafkaError) and ADMIN_GROUPS.is_retried(each))
    return next(retried, found)


def _sorted_out(found: Committed) -> Results[TopicPartition, OffsetAndMetadata]:
    done = {tp: fate for tp, fate in sorted(found.items()) if isinstance(fate, OffsetAndMetadata)}
    return Results(done, {tp: fate for tp, fate in found.items() if isinstance(fate, KafkaError)})


def alter_group_offsets(
    call: Call, group_id: str, offsets: Mapping[TopicPartition, OffsetAndMetadata]
) -> Results[TopicPartition, None]:
    def build(pending: list[TopicPartition]) -> Request:
        return offset_commit(group_id, {key: offsets[key] for key in pending})

    def read(response: OffsetCommitResponse) -> Items[TopicPartition, bool]:
        return _outcomes(codes_in(response.topics), lambda tp: f"commit the offset of {tp} for group {group_id}")

    results = Coordinators(call).each_item(group_id, offsets, build, read, max_version=LAST_VERSION_WITH_NAMES)
    return results.without_values()


def delete_group_offsets(
    call: Call, group_id: str, partitions: Iterable[TopicPartition]
) -> Results[TopicPartition, None]:
    """Delete committed offsets; the coordinator rejects partitions whose topic a member reads. Source: KIP-496."""

    def build(pending: list[TopicPartition]) -> Request:
        return OffsetDeleteRequest(group_id=group_id, topics=_to_delete(pending))

    def read(response: OffsetDeleteResponse) -> Items[TopicPartition, bool]:
        if response.error_code:
            return broker_error(response.error_code, f"delete offsets of group {group_id}")
        return _outcomes(codes_in(response.topics), lambda tp: f"delete the offset of {tp} for group {group_id}")

    return Coordinators(call).each_item(group_id, partitions, build, read).without_values()


def _to_delete(partitions: Iterable[TopicPartition]) -> list[OffsetDeleteRequestTopic]:
    return [
        OffsetDeleteRequestTopic(
            name=name, partitions=[OffsetDeleteRequestPartition(partition_index=index) for index in indexes]
        )
        for name, indexes in by_topic(partitions).items()
    ]


def _outcomes(
    codes: Iterable[tuple[TopicPartition, int]], action: Callable[[TopicPartition], str]
) -> Items[TopicPartition, bool]:
    return [(tp, code_error(code, action(tp)) or True) for tp, code in codes]
