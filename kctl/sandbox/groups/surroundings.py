"""Cluster services for one group."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, NamedTuple

from kctl.sandbox.groups.member_records import Layout, Snapshot
from kctl.sandbox.groups.offset_records import GroupMetadataValue
from kctl.sandbox.groups.outbox import Outbox
from kctl.sandbox.groups.timers import GroupTimers
from kctl.sandbox.settings import ClusterSettings

if TYPE_CHECKING:
    from kctl.sandbox.cluster import Topic

CLIENT_HOST = "/127.0.0.1"
"""Address of every member, because the sandbox records no client addresses."""


class Surroundings(NamedTuple):
    settings: ClusterSettings
    topics: "Mapping[str, Topic]"
    """Current topics by name."""
    timers: GroupTimers
    outbox: Outbox
    new_uuid: Callable[[], bytes]
    """Function that returns 16 unique, reproducible bytes."""
    store: Callable[[GroupMetadataValue], None]
    """Function that writes the state of a classic group."""
    store_changes: Callable[[Layout, Snapshot, Snapshot], None]
    """Function that writes the changes of another kind of group."""
