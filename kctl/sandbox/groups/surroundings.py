"""What a group takes from the cluster around it."""

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
"""Where every member is said to be: a connection of the sandbox carries no address of its client."""


class Surroundings(NamedTuple):
    """For one group."""

    settings: ClusterSettings
    topics: "Mapping[str, Topic]"
    """By name, as they are now."""
    timers: GroupTimers
    outbox: Outbox
    new_uuid: Callable[[], bytes]
    """16 bytes that were not used before, the same in each run."""
    store: Callable[[GroupMetadataValue], None]
    """Writes down what a classic group has come to."""
    store_changes: Callable[[Layout, Snapshot, Snapshot], None]
    """Writes down how a group of another kind differs from before."""
