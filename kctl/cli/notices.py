"""WaitNotices: notices about waits of a second or longer, for all commands.

The client's events arrive on its network thread. A separate task prints, because silence causes no event.
"""

import re
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from kctl.client.clock import Clock
from kctl.client.errors import ConnectionRefused, ConnectTimeout, DnsError, KafkaError
from kctl.client.events import (
    Closed,
    Event,
    EventSink,
    Expired,
    Failed,
    Lost,
    Phase,
    PhaseDone,
    Ready,
    RequestExpired,
    RequestSent,
    ResponseReceived,
    Started,
    Target,
    Throttled,
)

if TYPE_CHECKING:
    from kctl.client.runtime import Driver, Task

REPORT_AFTER_MS = 1000
REPEAT_MS, MOST_REPEAT_MS = 10_000, 60_000
LOOK_EVERY_MS = 200
MOST_CAUSES = 3
HELD_BY_BROKERS = ("Fetch", "JoinGroup", "SyncGroup", "ConsumerGroupHeartbeat")
"""Requests that a healthy broker holds before it responds."""


_UNREACHED = (ConnectionRefused, ConnectTimeout, DnsError)
_DETAILS = re.compile(r" \(RST after \d+ ms\)| after \d+ ms\b| within \S+ \(--[a-z-]+\)| \[phase \w+\]")
"""Parts of an error text that differ between attempts."""


class _Attempt(NamedTuple):
    target: Target
    where: str
    started_at_ms: int


class _Request(NamedTuple):
    target: Target
    api: str
    sent_at_ms: int


class _Ending(NamedTuple):
    error: KafkaError
    since_ms: int
    """Time from which attempts failed with this kind of error, retriable or not."""

    def is_retried(self, now_ms: int) -> bool:
        return self.error.retriable or now_ms - self.since_ms >= REPORT_AFTER_MS


class Waits:
    """Waits of a client, computed from its events. Thread-safe."""

    def __init__(self, now_ms: int) -> None:
        self._lock = threading.Lock()
        self._progress_at_ms = now_ms
        """Instant at which a connection last became ready or a response arrived."""
        self._attempts: dict[int, _Attempt] = {}
        self._connections: dict[int, int] = {}
        """Number of connections of each attempt: a silent broker gets a second one, replaced at intervals."""
        self._endings: dict[str, _Ending] = {}
        """Last error at each address, until a connection becomes ready."""
        self._requests: dict[tuple[int, int], _Request] = {}
        self._ready: dict[str, int] = {}
        """Time of the first connection to each address, in ms."""
        self._unused: set[int] = set()
        """Attempts of ready connections without a response so far."""
        self._throttled: dict[str, int] = {}
        """Instant at which each address ends its throttling."""
        self._useless: set[str] = set()
        """Addresses whose last connection was lost unused, so that a ready one is no progress."""
        self._others: dict[object, tuple[str, int]] = {}
        """Pending requests to other services, and their start."""

    def on_event(self, event: Event) -> None:
        with self._lock:
            if isinstance(event, Throttled):
                self._throttled[event.target.place] = event.at_ms + event.throttle_ms
            self._on_event(event)

    def _on_event(self, event: Event) -> None:
        match event:
            case Started() | PhaseDone():
                self._on_phase(event)
            case Ready():
                self._attempts.pop(event.target.attempt, None)
                self._unused.add(event.target.attempt)
                self._ready.setdefault(event.target.place, event.elapsed_ms)
                if event.target.place not in self._useless:
                    self._on_progress(event)
            case Failed() | Expired() | Lost():
                self._on_failure(event)
            case Closed():
                self._on_close(event.target)
            case RequestSent():
                if event.expects_response and event.api not in HELD_BY_BROKERS:
                    key = (event.target.attempt, event.correlation_id)
                    self._requests.setdefault(key, _Request(event.target, event.api, event.at_ms))
            case ResponseReceived():
                self._requests.pop((event.target.attempt, event.correlation_id), None)
                if event.target.attempt not in self._attempts:  # else it belongs to connecting
                    self._unused.discard(event.target.attempt)
                    self._useless.discard(event.target.place)
                    self._on_progress(event)
            case RequestExpired():
                self._requests.pop((event.target.attempt, event.correlation_id), None)
            case _:
                pass

    def _on_phase(self, event: Started | PhaseDone) -> None:
        if isinstance(event, PhaseDone) and event.phase in (Phase.DNS, Phase.METADATA):
            # a probe's addresses are attempts of their own, and it asks for Metadata when it is connected
            self._attempts.pop(event.target.attempt, None)
            return
        attempt = event.target.attempt
        if isinstance(event, Started) and event.phase is Phase.TCP:
            self._connections[attempt] = self._connections.get(attempt, 0) + 1
            if self._connections[attempt] > 1:
                return
        when = "in" if isinstance(event, Started) else "after"
        where = f"no connection progress {when} phase {event.phase.value}"
        if attempt not in self._attempts or self._attempts[attempt].where != where:
            self._attempts[attempt] = _Attempt(event.target, where, event.at_ms)

    def _on_failure(self, event: Failed | Expired | Lost) -> None:
        if event.target.attempt in self._unused:
            self._useless.add(event.target.place)
        if not (isinstance(event, Lost) and self._is_idle(event.target)):
            before = self._endings.get(event.target.place)
            is_same = before is not None and before.error.retriable == event.error.retriable
            since_ms = before.since_ms if before is not None and is_same else event.at_ms
            self._endings[event.target.place] = _Ending(event.error, since_ms)
        self._drop(event.target)

    def _on_progress(self, event: Ready | ResponseReceived) -> None:
        self._endings.pop(event.target.place, None)
        self._progress_at_ms = event.at_ms

    def _is_idle(self, target: Target) -> bool:
        """Return whether a used connection has no pending request. Brokers close idle connections."""
        return target.attempt not in self._unused and all(attempt != target.attempt for attempt, _ in self._requests)

    def _on_close(self, target: Target) -> None:
        others = self._connections.get(target.attempt, 1) - 1
        if others > 0:
            self._connections[target.attempt] = others
        else:
            self._drop(target)

    def _drop(self, target: Target) -> None:
        self._connections.pop(target.attempt, None)
        self._attempts.pop(target.attempt, None)
        self._unused.discard(target.attempt)
        for key in [key for key in self._requests if key[0] == target.attempt]:
            del self._requests[key]

    @contextmanager
    def other(self, what: str, now_ms: int) -> Iterator[None]:
        """Record a wait for a service other than Kafka during the context."""
        key = object()
        with self._lock:
            self._others[key] = (what, now_ms)
        try:
            yield
        finally:
            with self._lock:
                del self._others[key]

    def causes(self, now_ms: int) -> list[str]:
        """Return the causes of waits of at least REPORT_AFTER_MS. Return none of Kafka while brokers respond."""
        with self._lock:
            others = [what for what, since_ms in self._others.values() if now_ms - since_ms >= REPORT_AFTER_MS]
            return [*dict.fromkeys(others), *self._causes(now_ms)]

    @property
    def are_refused(self) -> bool:
        """Return whether all events so far were refused connections or failed name resolutions."""
        with self._lock:
            endings = self._endings.values()
            are_refusals = all(isinstance(each.error, ConnectionRefused | DnsError) for each in endings)
            return bool(endings) and are_refusals and not self._ready and not self._requests and not self._others

    def connections(self) -> list[str]:
        """Return a line for each connected and each unusable server. Without a connection, return no lines."""
        with self._lock:
            if not self._ready:
                return []
            failed = [f"cannot use {place}: {_brief(place, each.error)}" for place, each in self._endings.items()]
            return [f"connected to {place} in {elapsed_ms}ms" for place, elapsed_ms in self._ready.items()] + failed

    def failures(self, now_ms: int) -> list[str]:
        """Return failures of servers that accept connections. Return none while another server responds."""
        with self._lock:
            if now_ms - self._progress_at_ms < REPORT_AFTER_MS:
                return []
            return [
                f"{place}: {_brief(place, each.error)}"
                for place, each in self._endings.items()
                if not isinstance(each.error, _UNREACHED) and each.is_retried(now_ms)
            ]

    def _causes(self, now_ms: int) -> list[str]:
        if now_ms - self._progress_at_ms < REPORT_AFTER_MS:
            return []
        found = {
            each.target.place: f"no response to {each.api}"
            for each in self._requests.values()
            if now_ms - each.sent_at_ms >= REPORT_AFTER_MS
        }
        for place, until_ms in self._throttled.items():
            if until_ms > now_ms:
                found.setdefault(place, "the broker throttles this client because of a quota")
        for place, ending in self._endings.items():
            if ending.is_retried(now_ms):
                found.setdefault(place, _brief(place, ending.error))
        for attempt in self._attempts.values():
            if now_ms - attempt.started_at_ms >= REPORT_AFTER_MS:
                found.setdefault(attempt.target.place, attempt.where)
        return [f"{place}: {cause}" for place, cause in found.items()]


def _brief(place: str, error: KafkaError) -> str:
    return _DETAILS.sub("", str(error).removeprefix(f"{place}: "))


class WaitLimit(NamedTuple):
    """Time for which a command retries, counted from its start, and the option that sets it."""

    limit_ms: int
    flag: str

    def __str__(self) -> str:
        return f"{self.limit_ms / 1000:g}s ({self.flag})"


class WaitNotices:
    """Notices about the waits of one command.

    Args:
        limit: limit of --api-timeout. There are no notices within REPORT_AFTER_MS of its end, because an error follows.
        verbose: at the end, print the servers that accepted the client and those that failed.
        is_brief: print one notice, only for servers that accept connections and then fail.
    Attributes: refused_limit: limit if all bootstrap servers refuse; None for `limit`.
    """

    def __init__(
        self,
        program: str,
        say: Callable[[str], None],
        clock: Clock,
        limit: WaitLimit,
        *,
        verbose: bool = False,
        is_brief: bool = False,
    ) -> None:
        self.say = say
        self._program = program
        self._clock = clock
        self._limit = limit
        self._verbose = verbose
        self.refused_limit: WaitLimit | None = None
        self._started_at_ms = clock.now_ms()
        self._waits = Waits(clock.now_ms())
        self._is_brief = is_brief
        self.on_event: EventSink = self._on_event_once if is_brief else self._waits.on_event
        self._reported: list[str] = []
        self._reported_at_ms = clock.now_ms() - REPORT_AFTER_MS
        self._repeat_ms = REPEAT_MS
        self._driver: Driver | None = None
        self._task: Task | None = None
        self._is_stopping = False

    def _on_event_once(self, event: Event) -> None:
        self._waits.on_event(event)
        if isinstance(event, Failed | Lost) and not self._is_stopping and not self._is_at_its_end(event.at_ms):
            failures = self._waits.failures(event.at_ms)
            if failures:
                self._is_stopping = True
                self._say(failures)

    def during(self, what: str) -> AbstractContextManager[None]:
        """Report a pending request, such as `s3://bucket: no response`, during the context."""
        return self._waits.other(what, self._clock.now_ms())

    def start(self, driver: "Driver") -> None:
        """Start the task that prints notices, unless it runs, was stopped, or is not needed."""
        if self._driver is None and not self._is_stopping and not self._is_brief:
            stop = driver.waiter()
            self._stop, self._driver = stop, driver
            self._task = driver.spawn(partial(self._run, driver), "notices")

    def stop(self) -> None:
        """Stop the notices, and wait for the task. With `verbose`, print the connections first."""
        if self._verbose and not self._is_stopping:
            for line in self._waits.connections():
                self.say(f"{self._program}: {line}")
        self._is_stopping = True
        if self._driver is not None:
            self._stop.notify()
            if self._task is not None:  # else Ctrl-C came before its start was reported
                self._driver.join(self._task, self._clock.start_ms() + 5 * LOOK_EVERY_MS)
            self._driver = None

    def _run(self, driver: "Driver") -> None:
        while not self._is_stopping:
            driver.wait(self._stop, self._clock.now_ms() + LOOK_EVERY_MS)
            if not self._is_stopping:
                self.look(self._clock.now_ms())

    def look(self, now_ms: int) -> None:
        """Print new causes at most once a second, and known causes at growing intervals."""
        causes = self._waits.causes(now_ms)
        if not causes or self._is_at_its_end(now_ms):
            return
        is_new = not set(causes) <= set(self._reported)
        if now_ms - self._reported_at_ms < (REPORT_AFTER_MS if is_new else self._repeat_ms):
            return
        self._repeat_ms = REPEAT_MS if is_new else min(2 * self._repeat_ms, MOST_REPEAT_MS)
        self._reported = causes
        self._reported_at_ms = now_ms
        self._say(causes)

    def _is_at_its_end(self, now_ms: int) -> bool:
        """Return whether `now_ms` is close to the end of the limit, so that the error of the command follows."""
        return abs(self._started_at_ms + self._present_limit().limit_ms - now_ms) < REPORT_AFTER_MS

    def _say(self, causes: list[str]) -> None:
        more = [f"{len(causes) - MOST_CAUSES} more reasons"] if len(causes) > MOST_CAUSES else []
        shown = "; ".join([*causes[:MOST_CAUSES], *more])
        self.say(f"{self._program}: waiting: {shown}, retrying for up to {self._present_limit()}")

    def _present_limit(self) -> WaitLimit:
        if self.refused_limit is not None and self._waits.are_refused:
            return self.refused_limit
        return self._limit
