"""Asker: sends requests one after another within a shared timeout, and records gaps for missing responses.

Brokers that did not respond get no further requests in this look.
"""

from collections.abc import Callable, Container, Iterable, Mapping
from typing import TypeVar

from kctl.client.admin import Admin, Results
from kctl.client.broker_errors import ErrorCode
from kctl.client.clock import Clock, Timer, duration_text
from kctl.client.cluster import Node, PartitionInfo, TopicPartition
from kctl.client.errors import (
    AuthorizationError,
    BrokerError,
    CorruptBatchError,
    KafkaError,
    KafkaTimeoutError,
    RequestBudgetError,
    TransportError,
)
from kctl.client.wording import brokers_text
from kctl.why.look import Gap, Silence
from kctl.why.table import missing_right

K = TypeVar("K")
V = TypeVar("V")
W = TypeVar("W")

SHARE = 3
"""Divisor of the remaining time for each request, so that one silent broker leaves time for others."""
MOST_STEP_MS, STEPS = 10_000, 6
"""Maximum time of a request in ms; with a longer timeout, a sixth of it."""
LEAST_STEP_MS = 50
"""Minimum remaining time to send a request, in ms."""
MOST_READ = 10
"""Maximum number of partitions to read records from."""
MOST_TURNS = 3
"""Maximum number of offsets to read in one partition."""
PATIENCE_S = 2
"""Time in s to wait for other brokers after the first response, while a broker is silent."""
_GONE = (ErrorCode.GROUP_ID_NOT_FOUND, ErrorCode.TRANSACTIONAL_ID_NOT_FOUND)
"""Errors of objects that were deleted after they were listed."""
READY = "ready"
"""Connection phase after login."""
TIME_UP = "the timeout expired before this request (--api-timeout)"
BUDGET_SPENT = "the request limit is reached (--max-requests)"


def share_s(timer: Timer) -> float:
    """Return the timeout of the next request in s, which leaves time for later requests."""
    timer.update()
    most_ms = max(MOST_STEP_MS, timer.timeout_ms // STEPS)
    return min(timer.remaining_ms // SHARE, most_ms) / 1000


class Asker:
    def __init__(self, admin: Admin, clock: Clock, timer: Timer) -> None:
        self.admin = admin
        self.clock = clock
        self.timer = timer
        self.gaps: list[Gap] = []
        self.nodes: tuple[Node, ...] = ()
        self.silent: dict[int, Silence] = {}
        self._began_at_ms = clock.now_ms()

    def begin(self, gaps: list[Gap]) -> None:
        self.gaps = gaps
        self._began_at_ms = self.clock.now_ms()

    @property
    def alive(self) -> list[int]:
        return [node.node_id for node in self.nodes if node.node_id not in self.silent]

    def share_s(self) -> float:
        return share_s(self.timer)

    def partial_s(self) -> float | None:
        """Return the wait in s for other brokers after the first response, or None if no broker is silent."""
        return PATIENCE_S if self.silent else None

    def can_ask(self, request: str, of: str) -> bool:
        """Return whether time and budget are left for a request. If not, record a gap."""
        has_requests = self.admin.has_requests_left
        if has_requests and self.share_s() * 1000 >= LEAST_STEP_MS:
            return True
        self.gaps.append(Gap(request, of, None, TIME_UP if has_requests else BUDGET_SPENT))
        return False

    def ask(self, request: str, of: str, call: Callable[[float], V]) -> V | None:
        """Return the result of `call(timeout_s)`. If it fails, record a gap and return None."""
        if not self.can_ask(request, of):
            return None
        try:
            return call(self.share_s())
        except KafkaError as error:
            self.gap(request, of, error)
            return None

    def quietly(self, call: Callable[[], V]) -> V | None:
        if not self.admin.has_requests_left:
            return None
        try:
            return call()
        except KafkaError:
            return None

    def each(
        self, request: str, of: str, call: Callable[[float], Results[K, V]], selected: Container[K] = ()
    ) -> dict[K, V]:
        """Return the successful items, and record a gap for each kind of error.

        Args:
            selected: items that the user specified.
        Raises: KafkaError: a selected item does not exist, or may not be described.
        """
        results = self.ask(request, of, call)
        if results is None:
            return {}
        first: dict[str, tuple[K, KafkaError, int]] = {}
        for key, error in results.failed.items():
            if key in selected and (is_missing(error) or isinstance(error, AuthorizationError)):
                raise error
            if isinstance(error, BrokerError) and error.code in _GONE:
                continue
            name = error.name if isinstance(error, BrokerError) else type(error).__name__
            key, kept, count = first.get(name, (key, error, 0))
            first[name] = (key, kept, count + 1)
        for key, error, count in first.values():
            named = brokers_text([key]) if isinstance(key, int) else str(key)
            self.gap(request, f"{named} and {count - 1} more" if count > 1 else named, error)
        return results.done

    def read(
        self,
        of: str,
        offsets: Mapping[TopicPartition, W],
        call: "Callable[..., Results[TopicPartition, V]]",
        most: int = MOST_READ,
    ) -> dict[TopicPartition, V | KafkaError]:
        """Return records at offsets, or the errors of damaged batches. Other errors become gaps.

        Args:
            most: maximum number of partitions to read. The first ones are read.
        """
        wanted = dict(sorted(offsets.items())[:most])
        results = self.ask("Fetch", of, lambda s: call(wanted, timeout=s)) if wanted else None
        if results is None:
            return {}
        found: dict[TopicPartition, V | KafkaError] = dict(results.done)
        for tp, error in results.failed.items():
            if isinstance(error, CorruptBatchError):
                found[tp] = error
            else:
                self.gap("Fetch", str(tp), error)
        return found

    def read_each(
        self,
        of: str,
        places: "Iterable[tuple[TopicPartition, int]]",
        call: "Callable[..., Results[TopicPartition, V]]",
        most: int = MOST_READ,
    ) -> dict[tuple[TopicPartition, int], V | KafkaError]:
        """Return the records at the first offsets, or the errors of damaged batches.

        Reads at most `MOST_TURNS` offsets of each partition.
        """
        left: dict[TopicPartition, list[int]] = {}
        for tp, offset in sorted(set(places))[:most]:
            left.setdefault(tp, []).append(offset)
        found: dict[tuple[TopicPartition, int], V | KafkaError] = {}
        for at in range(MOST_TURNS):
            turn = {tp: offsets[at] for tp, offsets in left.items() if at < len(offsets)}
            found |= {(tp, turn[tp]): each for tp, each in self.read(of, turn, call, most).items()}
        return found

    def readable(
        self, known: Mapping[TopicPartition, PartitionInfo], partitions: Iterable[TopicPartition]
    ) -> list[TopicPartition]:
        alive = set(self.alive)
        return [tp for tp in partitions if tp in known and known[tp].leader_id in alive]

    # --- missing responses --------------------------------------------------------------------------------------------

    def unanswered(self, node_id: int, request: str, error: KafkaError) -> None:
        """Record that a broker did not respond.

        If the broker sent anything in this look, this is a gap. Otherwise the broker is silent for the rest of the
        look, which is a finding, or a gap if the wait was short.
        """
        if isinstance(error, KafkaTimeoutError) and self.admin.has_heard(node_id, self._began_at_ms):
            reason = f"no {request} response within {self._limit(error)}"
            self.gaps.append(Gap(request, brokers_text([node_id]), error, reason))
        else:
            phase = _phase(self.admin.unfinished(node_id) or _cause(error))
            silence = Silence(self._reason(request, error, phase), error, phase)
            self.silent[node_id] = silence
            if not silence.is_certain:
                self.gaps.append(Gap(request, brokers_text([node_id]), error, silence.reason))

    def gap(self, request: str, of: str, error: KafkaError) -> None:
        """Record a gap, with a short reason if the broker is silent."""
        if isinstance(error, RequestBudgetError) or not self.admin.has_requests_left:
            self.gaps.append(Gap(request, of, None, BUDGET_SPENT))
            return
        waited_for = self._waited_for(error)
        brokers = brokers_text(waited_for)
        silences = [self.silent[node_id] for node_id in waited_for if node_id in self.silent]
        if not waited_for or len(silences) < len(waited_for):
            reason = f"{f'{brokers}: ' if waited_for else ''}{self._reason(request, error, _phase(_cause(error)))}"
        elif all(each.is_certain for each in silences):
            reason = f"{brokers} does not respond" if len(waited_for) == 1 else f"{brokers} do not respond"
        else:
            reason = f"no response from {brokers} yet"
        right = missing_right(request, error.code) if isinstance(error, AuthorizationError) else None
        self.gaps.append(Gap(request, of, error, reason, right))

    def _reason(self, request: str, error: KafkaError, phase: str) -> str:
        if not isinstance(error, KafkaTimeoutError):
            return str(error)
        what = _PHASES.get(phase, f"no {request} response")
        return f"{what} within {self._limit(error)}"

    def _limit(self, error: KafkaTimeoutError) -> str:
        share = "" if error.timeout_ms >= self.timer.timeout_ms else "part of "
        return f"{duration_text(error.elapsed_ms)} ({share}--api-timeout {duration_text(self.timer.timeout_ms)})"

    def _waited_for(self, error: KafkaError) -> list[int]:
        if isinstance(error, KafkaTimeoutError):
            return list(error.node_ids)
        if isinstance(error, TransportError):
            return [node.node_id for node in self.nodes if (node.host, node.port) == (error.host, error.port)]
        return []


_PHASES = {
    "dns": "DNS did not resolve the host name",
    "tcp": "the TCP connection was not established",
    "tls": "the broker accepted the connection but sent no TLS response",
    "apiversions": "the broker accepted the connection but sent no ApiVersions response",
    "sasl": "the broker accepted the connection but authentication did not finish",
}
"""Dict from connection phase to the response that is missing."""


def _cause(error: KafkaError) -> KafkaError | None:
    return error.cause if isinstance(error, KafkaTimeoutError) and len(error.node_ids) == 1 else None


def _phase(error: KafkaError | None) -> str:
    return error.phase if isinstance(error, TransportError) else READY


def is_missing(error: KafkaError) -> bool:
    return isinstance(error, BrokerError) and error.code in (
        ErrorCode.GROUP_ID_NOT_FOUND,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    )
