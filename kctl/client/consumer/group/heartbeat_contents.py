"""HeartbeatContents: fields of KIP-848 heartbeats.

Heartbeats for a join or after a failure have all fields. Others have only changes.
"""

import re
from typing import NamedTuple

from kctl.client.config import ConsumerConfig
from kctl.client.consumer.group.events import Subscribe
from kctl.client.errors import LocalProtocolError
from kctl.client.protocol.api.consumer_groups import ConsumerGroupHeartbeatRequest, TopicPartitions

JOINS, LEAVES, LEAVES_FOR_NOW = 0, -1, -2
"""Member epochs for joining, leaving, and temporarily leaving (static members)."""
FIRST_VERSION_WITH_PATTERNS = 1

Slots = dict[bytes, tuple[int, ...]]
"""Dict from topic id to partition numbers, both in order."""


class Changes(NamedTuple):
    """Fields of a heartbeat in addition to the member's identity. None omits a field."""

    subscription: Subscribe | None
    owned: Slots | None


class HeartbeatContents:
    """Builder of a member's heartbeats. Source: KIP-848, KIP-1082."""

    def __init__(self, config: ConsumerConfig, group_id: str, member_id: str) -> None:
        self._config = config
        self._group_id = group_id
        self._member_id = member_id
        self._confirmed = Changes(None, None)
        self._had_pattern = False

    def forget(self) -> None:
        """Include all fields in the next heartbeat, for a join or after a lost heartbeat."""
        self._confirmed = Changes(None, None)

    def forget_owned(self) -> None:
        """Include the owned partitions in the next heartbeat, as the coordinator expects after each assignment."""
        self._confirmed = self._confirmed._replace(owned=None)

    def confirm(self, changes: Changes) -> None:
        before = self._confirmed
        self._confirmed = Changes(
            before.subscription if changes.subscription is None else changes.subscription,
            before.owned if changes.owned is None else changes.owned,
        )

    def has_changes(self, subscription: Subscribe, owned: Slots) -> bool:
        return self._confirmed != Changes(subscription, owned)

    def next(self, epoch: int, subscription: Subscribe, owned: Slots) -> tuple[ConsumerGroupHeartbeatRequest, Changes]:
        request = self._from_member(epoch)
        is_full = self._confirmed.subscription is None
        changes = Changes(
            subscription if self._confirmed.subscription != subscription else None,
            owned if self._confirmed.owned != owned else None,
        )
        if is_full:
            request.rack_id = self._config.client_rack or None
            request.rebalance_timeout_ms = self._config.max_poll_interval_ms
            request.server_assignor = self._config.group_remote_assignor
        if changes.subscription is not None:
            self._set_subscription(request, subscription)
        if changes.owned is not None:
            request.topic_partitions = [
                TopicPartitions(topic_id=topic_id, partitions=list(numbers)) for topic_id, numbers in owned.items()
            ]
        return request, changes

    def leave(self, *, keeps_place: bool) -> ConsumerGroupHeartbeatRequest:
        """Return the last heartbeat of the member.

        Args:
            keeps_place: whether a static member keeps its place for the length of a session.
        """
        return self._from_member(LEAVES_FOR_NOW if keeps_place else LEAVES)

    def _from_member(self, epoch: int) -> ConsumerGroupHeartbeatRequest:
        return ConsumerGroupHeartbeatRequest(
            group_id=self._group_id,
            member_id=self._member_id,
            member_epoch=epoch,
            instance_id=self._config.group_instance_id,
        )

    def _set_subscription(self, request: ConsumerGroupHeartbeatRequest, subscription: Subscribe) -> None:
        request.subscribed_topic_names = sorted(subscription.topics)
        if subscription.pattern is not None:
            self._had_pattern = True
            request.subscribed_topic_regex = broker_pattern(subscription.pattern)
        elif self._had_pattern:
            request.subscribed_topic_regex = ""


def broker_pattern(pattern: re.Pattern[str]) -> str:
    """Return the pattern in the broker's syntax (RE2).

    Raises: LocalProtocolError: the pattern has an unsupported flag.
    """
    letters = {re.IGNORECASE: "i", re.MULTILINE: "m", re.DOTALL: "s", re.UNICODE: ""}
    flags, left = "", pattern.flags
    for flag, letter in letters.items():
        if left & flag:
            flags += letter
            left &= ~flag
    if left:
        raise LocalProtocolError(f"regular expressions of the broker do not support the flag {re.RegexFlag(left)!r}")
    return f"(?{flags}){pattern.pattern}" if flags else pattern.pattern
