from enum import IntEnum
from typing import NamedTuple


class Replica(NamedTuple):
    """A replica of a partition on one broker."""

    topic: str
    partition: int
    broker_id: int


class ReplicaLogDir(NamedTuple):
    """Log directory of a replica.

    Attributes:
        path: the log directory.
        lag: number of offsets behind the high watermark.
        future_path: target directory of a move; None without a move.
        future_size_bytes: size of the copy in the target directory.
        future_lag: number of offsets by which the copy is behind the replica.
    """

    path: str
    size_bytes: int
    lag: int
    future_path: str | None = None
    future_size_bytes: int = 0
    future_lag: int = 0


class UpgradeType(IntEnum):
    """Direction in which a feature level may change; the values are Kafka's numbers."""

    UPGRADE = 1
    SAFE_DOWNGRADE = 2
    """Allow lower levels if no metadata is lost."""
    UNSAFE_DOWNGRADE = 3
    """Allow lower levels even if metadata is lost."""


class FeatureUpdate(NamedTuple):
    """A new level of a feature; level 0 disables it."""

    level: int
    upgrade_type: UpgradeType = UpgradeType.UPGRADE


class VoterEndpoint(NamedTuple):
    """Name, such as `CONTROLLER`, and address of a controller's listener."""

    listener: str
    host: str
    port: int
