"""What the calls about replicas, features and voters take and return."""

from enum import IntEnum
from typing import NamedTuple


class Replica(NamedTuple):
    """A replica of a partition on one broker."""

    topic: str
    partition: int
    broker_id: int


class ReplicaLogDir(NamedTuple):
    """The place of a replica.

    Attributes:
        path: its log directory.
        size_bytes: of the replica.
        lag: offsets that it is behind the high watermark.
        future_path: the directory that it moves to; None if it does not move.
        future_size_bytes, future_lag: of the copy there; the lag is to the end of the replica.
    """

    path: str
    size_bytes: int
    lag: int
    future_path: str | None = None
    future_size_bytes: int = 0
    future_lag: int = 0


class UpgradeType(IntEnum):
    """Direction in which a feature level may change: Kafka's numbers."""

    UPGRADE = 1
    SAFE_DOWNGRADE = 2
    """Lower levels too, if no metadata is lost."""
    UNSAFE_DOWNGRADE = 3
    """Lower levels too, even if metadata is lost."""


class FeatureUpdate(NamedTuple):
    """A new level of a feature; level 0 switches it off."""

    level: int
    upgrade_type: UpgradeType = UpgradeType.UPGRADE


class VoterEndpoint(NamedTuple):
    """A listener of a controller, such as `CONTROLLER`, and its address."""

    listener: str
    host: str
    port: int
