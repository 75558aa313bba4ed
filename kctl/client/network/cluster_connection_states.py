"""ClusterConnectionStates: state, backoff, and setup timeout of each node, and their round robin. No I/O.

Source: KIP-601, Kafka's ClusterConnectionStates. Differs: only the backoff has jitter, the setup timeout has none.
"""

from random import Random

from kctl.client.backoff import ExponentialBackoff
from kctl.client.errors import KafkaError
from kctl.client.network.states import NODE_TRANSITIONS, NodeState, moved

_WITHOUT_CONNECTION = (NodeState.DISCONNECTED, NodeState.REFUSED)


class _NodeRecord:
    __slots__ = (
        "deadline_at_ms",
        "error",
        "failed_attempts",
        "may_connect_at_ms",
        "may_retry_refusal_at_ms",
        "refusals",
        "setup_failures",
        "state",
    )

    def __init__(self) -> None:
        self.state = NodeState.DISCONNECTED
        self.failed_attempts = 0
        self.setup_failures = 0
        self.refusals = 0
        """Number of consecutive refusals."""
        self.may_connect_at_ms = 0
        self.may_retry_refusal_at_ms = 0
        """End of the first backoff after a refusal, for which a new call waits at most."""
        self.deadline_at_ms = 0
        self.error: KafkaError | None = None


class ClusterConnectionStates:
    """States of all nodes.

    Args:
        backoff: waits after a failed attempt or a lost connection.
        refusal_backoff: longer waits after a refusal, because frequent attempts lock accounts.
    """

    def __init__(
        self,
        backoff: ExponentialBackoff,
        refusal_backoff: ExponentialBackoff,
        *,
        setup_timeout_ms: int,
        setup_timeout_max_ms: int,
        rng: Random,
    ) -> None:
        self._backoff = backoff
        self._refusal_backoff = refusal_backoff
        self._setup_timeout_ms = setup_timeout_ms
        self._setup_timeout_max_ms = max(setup_timeout_ms, setup_timeout_max_ms)
        self._records: dict[int, _NodeRecord] = {}
        self.failures = 0
        """Number of failed attempts and lost connections."""
        self._next_idx = rng.randrange(1 << 16)

    def next_node_idx(self, node_count: int) -> int:
        """Return the index of the next candidate, in round robin from a random start.

        Source: KIP-601, `nextNodeIdx`. The start is random, so that many clients do not begin with the same node.
        """
        idx = self._next_idx % node_count
        self._next_idx += 1
        return idx

    def state(self, node_id: int) -> NodeState:
        record = self._records.get(node_id)
        return NodeState.DISCONNECTED if record is None else record.state

    def error(self, node_id: int) -> KafkaError | None:
        """Return the error of the node's last attempt or connection, or None after a success."""
        record = self._records.get(node_id)
        return None if record is None else record.error

    def can_connect(self, node_id: int, now_ms: int) -> bool:
        record = self._records.get(node_id)
        if record is None:
            return True
        return record.state in _WITHOUT_CONNECTION and now_ms >= record.may_connect_at_ms

    def is_idle(self, node_id: int) -> bool:
        return self.state(node_id) in _WITHOUT_CONNECTION

    def is_backing_off(self, node_id: int, now_ms: int) -> bool:
        record = self._records.get(node_id)
        return record is not None and record.state in _WITHOUT_CONNECTION and now_ms < record.may_connect_at_ms

    def may_connect_at_ms(self, node_id: int) -> int:
        record = self._records.get(node_id)
        return 0 if record is None else record.may_connect_at_ms

    def setup_timeout_ms(self, node_id: int) -> int:
        """Return the timeout of the node's next attempt, which doubles with each consecutive failed setup."""
        record = self._records.get(node_id)
        doublings = 0 if record is None else min(record.setup_failures, 32)
        return min(self._setup_timeout_ms << doublings, self._setup_timeout_max_ms)

    def connecting(self, node_id: int, start_at_ms: int) -> int:
        record = self._records.setdefault(node_id, _NodeRecord())
        record.state = moved(NODE_TRANSITIONS, record.state, NodeState.CONNECTING)
        record.deadline_at_ms = start_at_ms + self.setup_timeout_ms(node_id)
        return record.deadline_at_ms

    def deadline_at_ms(self, node_id: int) -> int:
        return self._records[node_id].deadline_at_ms

    def ready(self, node_id: int) -> None:
        record = self._records[node_id]
        record.state = moved(NODE_TRANSITIONS, record.state, NodeState.READY)
        record.failed_attempts = record.setup_failures = record.refusals = 0
        record.error = None

    def disconnected(self, node_id: int, now_ms: int, error: KafkaError) -> None:
        """Record a failed attempt or lost connection.

        A failed attempt doubles the next backoff and timeout; a lost connection only starts the first backoff. An error
        that is not retriable is a refusal, which has longer waits.
        """
        self.failures += 1
        record = self._records[node_id]
        if record.state is NodeState.CONNECTING:
            record.setup_failures += 1
        record.error = error
        if error.retriable:
            record.state = moved(NODE_TRANSITIONS, record.state, NodeState.DISCONNECTED)
            record.may_connect_at_ms = now_ms + self._backoff.backoff_ms(record.failed_attempts)
            record.failed_attempts += 1
        else:
            record.state = moved(NODE_TRANSITIONS, record.state, NodeState.REFUSED)
            record.may_connect_at_ms = now_ms + self._refusal_backoff.backoff_ms(record.refusals)
            record.may_retry_refusal_at_ms = now_ms + self._refusal_backoff.backoff_ms(0)
            record.refusals += 1

    def clear_refusal(self, node_id: int) -> None:
        """Forget a refusal, and shorten its wait to the first backoff."""
        record = self._records.get(node_id)
        if record is not None and record.state is NodeState.REFUSED:
            record.state = moved(NODE_TRANSITIONS, record.state, NodeState.DISCONNECTED)
            record.may_connect_at_ms = min(record.may_connect_at_ms, record.may_retry_refusal_at_ms)

    def released(self, node_id: int) -> None:
        """Record that the client ended the connection or attempt, which is no failure and starts no backoff."""
        record = self._records[node_id]
        record.state = moved(NODE_TRANSITIONS, record.state, NodeState.DISCONNECTED)

    def renamed(self, old_id: int, new_id: int) -> None:
        self._records[new_id] = self._records.pop(old_id)

    def forget(self, node_id: int) -> None:
        self._records.pop(node_id, None)
