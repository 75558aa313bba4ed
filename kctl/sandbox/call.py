"""Pending requests, and the handlers of APIs.

Handlers return the response, or return None and complete the call later.
"""

from collections.abc import Callable
from typing import Generic, NamedTuple, TypeVar

from kctl.client.broker_errors import ErrorCode
from kctl.client.protocol.schema import Request, Response
from kctl.sandbox.access.client_quotas import account_of
from kctl.sandbox.cluster import Cluster, ClusterNode
from kctl.sandbox.groups.outbox import Asker
from kctl.sandbox.identity import ANONYMOUS, Identity
from kctl.sandbox.partition import Partition
from kctl.sandbox.quotas import Limit, Quota

Q = TypeVar("Q", bound=Request)


class Call:
    __slots__ = (
        "_answer",
        "client_id",
        "cluster",
        "fails_with",
        "identity",
        "is_abandoned",
        "muted_ms",
        "node",
        "on_abandoned",
        "version",
    )

    def __init__(
        self,
        node: ClusterNode,
        cluster: Cluster,
        identity: Identity,
        version: int,
        client_id: str | None,
        answer: Callable[[Response | None], None],
    ) -> None:
        self.node = node
        self.cluster = cluster
        self.identity = identity
        self.version = version
        self.client_id = client_id
        self.fails_with: ErrorCode | None = None
        """Error that a fault injected into the request."""
        self.muted_ms = 0
        """Time for which the connection reads no further requests after the response, in ms."""
        self.is_abandoned = False
        self.on_abandoned: Callable[[], None] | None = None
        self._answer = answer

    def answer(self, response: Response | None) -> None:
        """Complete the call with a response. None sends nothing."""
        self._answer(response)

    def abandon(self) -> None:
        self.is_abandoned = True
        if self.on_abandoned is not None:
            self.on_abandoned()

    def over_quota_ms(self, quota: Quota, taken_bytes: int = 0) -> int:
        """Charge `taken_bytes`, and return the throttle time in ms, which the connection applies after the response."""
        self.charge(quota, taken_bytes)
        limit = self._limit(quota)
        self.muted_ms = 0
        if limit is not None:
            self.muted_ms = self.node.quotas.debt_ms(limit, self.cluster.scheduler.now_ms())
        return self.muted_ms

    def charge(self, quota: Quota, size_bytes: int) -> None:
        limit = self._limit(quota)
        if limit is not None:
            self.node.quotas.charge(limit, size_bytes, self.cluster.scheduler.now_ms())

    def _limit(self, quota: Quota) -> Limit | None:
        user, client_id = self.identity.user or ANONYMOUS, self.client_id or ""
        own = self.node.quotas.limit_of(quota, client_id)
        if own is not None:
            return own
        found = self.cluster.client_quotas.effective(quota.key, user, client_id)
        if found is None:
            return None
        return Limit(quota, account_of(found.source, user, client_id), max(1, int(found.value)))

    def asker(self) -> Asker:
        return Asker(self.client_id or "", self.version, self.answer)

    def led_partition(self, topic: str, index: int) -> Partition | ErrorCode:
        partition = self.cluster.partition(topic, index)
        if partition is None:
            return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        if partition.leader_id != self.node.node_id:
            return ErrorCode.NOT_LEADER_OR_FOLLOWER
        return partition


class Handler(NamedTuple, Generic[Q]):
    """Handler of an API for the versions from `first` to `last`.

    Attributes:
        advertised_from: lowest version in ApiVersions, if lower than `first`.
    """

    request: type[Q]
    first: int
    last: int
    handle: Callable[[Call, Q], Response | None]
    advertised_from: int | None = None


def epoch_error(partition: Partition, epoch_of_client: int) -> ErrorCode:
    """Return the error for the leader epoch that a client sent. -1 skips the check (KIP-320)."""
    if epoch_of_client == -1 or epoch_of_client == partition.leader_epoch:
        return ErrorCode.NONE
    if epoch_of_client < partition.leader_epoch:
        return ErrorCode.FENCED_LEADER_EPOCH
    return ErrorCode.UNKNOWN_LEADER_EPOCH
