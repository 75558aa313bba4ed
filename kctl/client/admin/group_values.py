"""Values that the admin client returns about groups."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from kctl.client.cluster import Node, TopicPartition
from kctl.client.errors import KafkaError

CLASSIC = "classic"
CONSUMER = "consumer"
SHARE = "share"
STREAMS = "streams"
"""Types of groups: JoinGroup and SyncGroup, KIP-848, KIP-932 and KIP-1071."""
CONSUMER_PROTOCOL = "consumer"
"""The protocol type of classic groups whose members are consumers; Connect's workers, for example, have another."""


class GroupListing(NamedTuple):
    """One group of the list.

    Attributes:
        type: `classic`, `consumer`, `share`, ...; lower case.
        state: as the broker spells it (`Stable`, `Empty`, ...).
        protocol_type: what the members say they are; empty for a group that never had any.
        coordinator: the broker that reported it.
    """

    group_id: str
    type: str
    state: str
    protocol_type: str
    coordinator: Node


class GroupList(NamedTuple):
    """The groups that the brokers reported, sorted by id, and the brokers that did not respond, with the reason.

    With anything in `failed` the list is not complete: only the coordinator of a group knows it.
    """

    groups: Mapping[str, GroupListing]
    failed: Mapping[Node, KafkaError]


class MemberDescription(NamedTuple):
    """One member of a group.

    Attributes:
        assignment: what it has; None where the group's protocol is not that of consumers, so that it is not known.
        subscribed_topics: what it wants by name; None where that is not known (a rebalance is under way).
        target_assignment, epoch, subscribed_regex, rack: KIP-848 alone, else None.
        tasks, standby_tasks: of streams groups: partition numbers by subtopology; None for other groups.
        is_classic: a member of a KIP-848 group that still speaks the classic protocol (KIP-848, online upgrade).
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
    """One group with its members.

    Attributes:
        type: CLASSIC, CONSUMER, SHARE or STREAMS.
        assignor: that assigns the partitions; empty while there is none.
        epoch, target_epoch: of KIP-848 groups: of the membership, and the one for which a target was computed.
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
    """A member by its id, or a static one by its group.instance.id alone."""

    member_id: str = ""
    group_instance_id: str | None = None

    def __str__(self) -> str:
        return self.member_id or f"group.instance.id {self.group_instance_id}"
