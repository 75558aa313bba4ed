from collections.abc import Mapping, Sequence
from typing import NamedTuple

from kctl.client.cluster import Node, TopicPartition
from kctl.client.errors import KafkaError

CLASSIC = "classic"
CONSUMER = "consumer"
SHARE = "share"
STREAMS = "streams"
"""Types of groups: CLASSIC has JoinGroup and SyncGroup, CONSUMER is KIP-848, SHARE KIP-932, STREAMS KIP-1071."""
CONSUMER_PROTOCOL = "consumer"
"""Protocol type of classic groups of consumers. Groups of Connect workers, for example, have another one."""


class GroupListing(NamedTuple):
    """A group in a list.

    Attributes:
        type: `classic`, `consumer`, `share`, ...; lower case.
        state: state in the broker's spelling (`Stable`, `Empty`, ...).
        protocol_type: protocol type; empty for groups that never had members.
        coordinator: broker that reported the group.
    """

    group_id: str
    type: str
    state: str
    protocol_type: str
    coordinator: Node


class GroupList(NamedTuple):
    """Groups by id, sorted, and the errors of brokers that did not respond.

    If `failed` is not empty, the list is incomplete, because only its coordinator knows a group.
    """

    groups: Mapping[str, GroupListing]
    failed: Mapping[Node, KafkaError]


class MemberDescription(NamedTuple):
    """A member of a group.

    Attributes:
        assignment: assigned partitions; None if the protocol type is not `consumer`.
        subscribed_topics: topics; None if unknown (during a rebalance).
        target_assignment, epoch, subscribed_regex, rack: values of KIP-848; otherwise None.
        tasks, standby_tasks: partition numbers by subtopology, for streams groups; otherwise None.
        is_classic: whether the member of a KIP-848 group uses the classic protocol (online upgrade).
    """

    member_id: str
    group_instance_id: str | None
    client_id: str
    host: str
    assignment: tuple[TopicPartition, ...] | None
    subscribed_topics: tuple[str, ...] | None
    target_assignment: tuple[TopicPartition, ...] | None = None
    epoch: int | None = None
    subscribed_regex: str | None = None
    rack: str | None = None
    is_classic: bool = False
    tasks: Mapping[str, Sequence[int]] | None = None
    standby_tasks: Mapping[str, Sequence[int]] | None = None


class GroupDescription(NamedTuple):
    """A group with its members.

    Attributes:
        type: CLASSIC, CONSUMER, SHARE, or STREAMS.
        assignor: name of the partition assignor; empty if the group has none yet.
        epoch, target_epoch: epochs of the group and of the target assignment, with KIP-848.
    """

    group_id: str
    type: str
    state: str
    protocol_type: str
    assignor: str
    coordinator: Node | None
    members: tuple[MemberDescription, ...]
    epoch: int | None = None
    target_epoch: int | None = None


class MemberToRemove(NamedTuple):
    """A member by its id, or a static member by its group.instance.id."""

    member_id: str = ""
    group_instance_id: str | None = None

    def __str__(self) -> str:
        return self.member_id or f"group.instance.id {self.group_instance_id}"
