"""Events of connections, requests, consumer positions, and groups, without payloads and secrets."""

import logging
from collections.abc import Callable
from enum import Enum
from typing import NamedTuple
from weakref import ref

from kctl.client.errors import KafkaError
from kctl.client.wording import listed, place_text

logger = logging.getLogger("kctl.client.events")
connection_logger = logging.getLogger("kctl.client.connections")
group_logger = logging.getLogger("kctl.client.groups")
request_logger = logging.getLogger("kctl.client.requests")

QUIET_MS = 60_000
"""Time in which a repeated failure of a broker is not logged again."""
MOST_FAILURES = 1000
"""Maximum number of remembered failures, by broker and kind of error."""


class Phase(Enum):
    """Phase of a connection, in order; the value is the word for users."""

    DNS = "dns"
    TCP = "tcp"
    TLS = "tls"
    APIVERSIONS = "apiversions"
    SASL = "sasl"
    METADATA = "metadata"
    """First real request; only in probes."""
    READY = "ready"


class Target(NamedTuple):
    """Connection attempt of an event.

    Attributes:
        attempt: number that is unique within a client.
        node_id: node id; negative for bootstrap servers (-1 is the first).
        address: numeric address; empty during the DNS query.
    """

    attempt: int
    node_id: int
    host: str
    port: int
    address: str

    @property
    def place(self) -> str:
        return place_text(self.host, self.port)

    def __str__(self) -> str:
        where = f"{self.host}:{self.port}"
        if self.address and self.address.rsplit(":", 1)[0].strip("[]") != self.host:
            where += f" [{self.address.rsplit(':', 1)[0].strip('[]')}]"
        return where


class Started(NamedTuple):
    """An attempt entered its first phase: dns or tcp."""

    at_ms: int
    target: Target
    phase: Phase
    limit_ms: int


class PhaseDone(NamedTuple):
    """A phase succeeded. Attributes: detail: its result (addresses, TLS version, mechanism)."""

    at_ms: int
    target: Target
    phase: Phase
    elapsed_ms: int
    detail: str


class Ready(NamedTuple):
    """The connection is ready for requests, `elapsed_ms` after its start."""

    at_ms: int
    target: Target
    elapsed_ms: int


class Failed(NamedTuple):
    """The attempt failed in `phase`."""

    at_ms: int
    target: Target
    phase: Phase
    elapsed_ms: int
    error: KafkaError


class Expired(NamedTuple):
    """The connect timeout passed in `phase`; the client tries the next candidate."""

    at_ms: int
    target: Target
    phase: Phase
    limit_ms: int
    elapsed_ms: int
    error: KafkaError


class Closed(NamedTuple):
    """The client closed a connection. Attributes: reason: idle, lost race, request timeout, or close."""

    at_ms: int
    target: Target
    reason: str


class Lost(NamedTuple):
    """The server or the network closed a ready connection."""

    at_ms: int
    target: Target
    error: KafkaError


class RequestSent(NamedTuple):
    """A request was passed to the system. Attributes: expects_response: False for Produce with acks=0."""

    at_ms: int
    target: Target
    api: str
    version: int
    correlation_id: int
    size_bytes: int
    expects_response: bool = True


class ResponseReceived(NamedTuple):
    """A response has arrived."""

    at_ms: int
    target: Target
    api: str
    version: int
    correlation_id: int
    size_bytes: int
    elapsed_ms: int


class RequestExpired(NamedTuple):
    """A request had no response within its timeout; its connection is closed."""

    at_ms: int
    target: Target
    api: str
    correlation_id: int
    limit_ms: int


class RequestAbandoned(NamedTuple):
    """The call of a request ended before the response. The connection stays open until the request expires.

    Attributes: limit_ms: time that the request had, less than request.timeout.ms.
    """

    at_ms: int
    target: Target
    api: str
    correlation_id: int
    limit_ms: int


class Throttled(NamedTuple):
    """The broker requires a pause of `throttle_ms`, which the client observes."""

    at_ms: int
    target: Target
    api: str
    throttle_ms: int


class ResetCause(Enum):
    """Reason of a position reset; the value is the text for users."""

    OUT_OF_RANGE = "the partition does not have this offset"
    TRUNCATED = "the log was truncated (the new leader did not have the last records)"
    RECREATED = "the topic was deleted and recreated"


class PositionReset(NamedTuple):
    """A consumer continues at another position because of auto.offset.reset; records may be missed or repeated.

    Attributes: policy: value of auto.offset.reset.
    """

    at_ms: int
    topic: str
    partition: int
    old_offset: int
    new_offset: int
    policy: str
    cause: ResetCause

    def __str__(self) -> str:
        return (
            f"{self.topic}-{self.partition}: auto.offset.reset={self.policy} moved the position "
            f"from {self.old_offset} to {self.new_offset}, because {self.cause.value}"
        )


def is_of_commit(error: object) -> bool:
    """Return whether an error begins with `cannot commit`. Messages about commits do not repeat these words."""
    return str(error).startswith("cannot commit ")


class AutoCommitFailed(NamedTuple):
    """An automatic commit of offsets has failed, which no call reports.

    Attributes: offsets: topic, partition, and offset of each.
    """

    at_ms: int
    group_id: str
    offsets: tuple[tuple[str, int, int], ...]
    error: KafkaError

    def __str__(self) -> str:
        what = listed(f"{topic}-{partition} at {offset}" for topic, partition, offset in self.offsets)
        if is_of_commit(self.error):
            return f"group {self.group_id}: {self.error} (automatic commit of {what})"
        return f"group {self.group_id}: automatic commit of {what} failed: {self.error}"


class MembershipLost(NamedTuple):
    """A consumer has lost its membership and its partitions, which other members may read now.

    Attributes:
        partitions: topic and number of each lost partition.
        reason: description for users.
        error: error of the broker, if any.
    """

    at_ms: int
    group_id: str
    member_id: str
    partitions: tuple[tuple[str, int], ...]
    reason: str
    error: KafkaError | None

    def __str__(self) -> str:
        what = listed(f"{topic}-{partition}" for topic, partition in self.partitions)
        return f"group {self.group_id}: member {self.member_id} has lost {what}: {self.reason}"


class GroupStep(Enum):
    """Change of a group member; the value is the word for users."""

    JOINED = "joined"
    ASSIGNED = "assigned"
    REVOKED = "revoked"
    LEFT = "left"


class GroupChanged(NamedTuple):
    """A consumer has joined or left its group, or its assignment has changed. A loss is a `MembershipLost`.

    Attributes:
        generation: generation, or member epoch with KIP-848; -1 outside the group.
        partitions: topic and number of each assigned or revoked partition.
    """

    at_ms: int
    group_id: str
    member_id: str
    generation: int
    step: GroupStep
    partitions: tuple[tuple[str, int], ...] = ()

    def __str__(self) -> str:
        if self.step is GroupStep.JOINED:
            return f"group {self.group_id}: member {self.member_id} joined generation {self.generation}"
        what = listed(f"{topic}-{partition}" for topic, partition in self.partitions)
        return f"group {self.group_id}: {self.step.value} {what}".rstrip()


class CoordinatorFound(NamedTuple):
    """The coordinator of `owner`, such as `group g`, was found."""

    at_ms: int
    owner: str
    node_id: int
    host: str
    port: int

    def __str__(self) -> str:
        return f"{self.owner}: the coordinator is broker {self.node_id} ({self.host}:{self.port})"


class CoordinatorLost(NamedTuple):
    """The coordinator of `owner` does not respond or has moved; the client finds it again."""

    at_ms: int
    owner: str
    node_id: int
    host: str
    port: int
    error: KafkaError

    def __str__(self) -> str:
        return f"{self.owner}: lost the coordinator, broker {self.node_id} ({self.host}:{self.port}): {self.error}"


Event = (
    Started
    | PhaseDone
    | Ready
    | Failed
    | Expired
    | Closed
    | Lost
    | RequestSent
    | ResponseReceived
    | RequestExpired
    | RequestAbandoned
    | Throttled
    | PositionReset
    | AutoCommitFailed
    | MembershipLost
    | GroupChanged
    | CoordinatorFound
    | CoordinatorLost
)
EventSink = Callable[[Event], None]


class GuardedSink:
    """Calls an event callback of the application. It logs the first exception of the callback, and raises none."""

    def __init__(self, events: EventSink) -> None:
        self._events = events
        self._has_failed = False

    def __call__(self, event: Event) -> None:
        try:
            self._events(event)
        except (Exception, SystemExit):  # SystemExit would end the network thread; Ctrl-C must end an admin call
            if not self._has_failed:
                self._has_failed = True
                logger.exception("the events callback failed on %s. Further failures are not logged", event)


class OwnedSink:
    __slots__ = ("__weakref__", "sink")

    def __init__(self, sink: EventSink) -> None:
        self.sink = sink

    def lend(self) -> EventSink:
        """Return a sink that works only while this object lives.

        The sink may refer to its client, which the network thread must not keep alive.
        """
        if self.sink is ignore_events:
            return ignore_events
        own = ref(self)

        def pass_on(event: Event) -> None:
            owned = own()
            if owned is not None:
                owned.sink(event)

        return pass_on


_REQUESTS = (RequestSent, ResponseReceived, RequestExpired)
_FAILURES = (Failed, Expired, Lost)


class EventLog:
    """Logs events of a client, then passes them on.

    Level WARNING has failed and lost connections, once per minute for each broker and kind of error. Level DEBUG has
    requests.
    """

    def __init__(self, name: str, events: EventSink) -> None:
        self._prefix = f"{name}: " if name else ""
        self._events = events
        self._silent_until_ms: dict[tuple[int, str], int] = {}
        self._unlogged: dict[tuple[int, str], int] = {}

    def __call__(self, event: Event) -> None:
        if isinstance(event, _REQUESTS):
            if request_logger.isEnabledFor(logging.DEBUG):
                self._log_request(event)
        elif isinstance(event, _FAILURES) and connection_logger.isEnabledFor(logging.WARNING):
            self._log_failure(event)
        self._events(event)

    def _log_failure(self, event: "Failed | Expired | Lost") -> None:
        key = event.target.node_id, type(event.error).__name__
        if event.at_ms < self._silent_until_ms.get(key, 0):
            self._unlogged[key] = self._unlogged.get(key, 0) + 1
            return
        if len(self._silent_until_ms) >= MOST_FAILURES:
            self._silent_until_ms.clear()
        self._silent_until_ms[key] = event.at_ms + QUIET_MS
        unlogged = self._unlogged.pop(key, 0)
        what = "connection lost" if isinstance(event, Lost) else "connection failed"
        more = f" ({unlogged} similar failures since the last line were not logged)" if unlogged else ""
        connection_logger.warning("%s%s: %s%s", self._prefix, what, event.error, more)

    def _log_request(self, event: "RequestSent | ResponseReceived | RequestExpired") -> None:
        if isinstance(event, RequestSent):
            what = f"sent {event.size_bytes} bytes (version {event.version})"
        elif isinstance(event, ResponseReceived):
            what = f"received {event.size_bytes} bytes after {event.elapsed_ms}ms"
        else:
            what = f"no response within {event.limit_ms}ms"
        request_logger.debug("%s%s: %s %d: %s", self._prefix, event.target, event.api, event.correlation_id, what)


def keep_off_stderr() -> None:
    """Keep the records of these loggers off stderr, but pass them to an application's handlers."""
    for each in (connection_logger, group_logger, request_logger):
        if not each.handlers:
            each.addHandler(logging.NullHandler())


def ignore_events(_: Event) -> None:
    """Ignore an event; this is the sink of a client without one."""
