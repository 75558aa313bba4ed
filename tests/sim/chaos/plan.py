"""The plan of a run: which clients there are, what is wrong when, and for how long; drawn whole before the run.

Every subset of the faults and of the clients is a plan too, so shrinking is deleting. Nothing here touches a client or
the sandbox.
"""

import json
import math
from collections.abc import Callable, Iterable, Mapping
from enum import Enum
from hashlib import blake2b
from pathlib import Path
from random import Random
from typing import NamedTuple, TypeVar

K = TypeVar("K")
F = TypeVar("F")
NODES = 3
PARTITIONS = {"t": 4, "u": 2}
"""Topics of every run; only `u` is deleted and recreated, or gets more partitions."""
SESSION_MS = 10_000
MAX_POLL_MS = 20_000
OLD_METADATA_MS = 300_000
"""Kafka's own metadata.max.age.ms: longer than a run."""
WALL_JUMPS_MS = [-3_600_000, -1000, 1000, 3_600_000]


class Kind(Enum):
    """Kind of fault; the value is the word in a plan."""

    CLOG_REQUESTS = "clog-requests"
    CLOG_RESPONSES = "clog-responses"
    CLOG = "clog"
    BLACKHOLE = "blackhole"
    REFUSE = "refuse"
    SLOW = "slow"
    RATE = "rate"
    SEGMENTS = "segments"
    WINDOW = "window"
    CUT = "cut"
    HALF_CLOSE = "half-close"
    FORGOTTEN = "forgotten"
    ORPHAN = "orphan"
    DAMAGE = "damage"
    UNREADABLE = "unreadable"
    REJECT = "reject"
    SWIZZLE = "swizzle"
    PAUSE = "pause"
    SILENCE = "silence"
    RESET_ON_REQUEST = "reset-on-request"
    DROP_ANSWERS = "drop-answers"
    DELAY = "delay"
    CRASH = "crash"
    LEADER = "leader"
    ELECTION = "election"
    CUT_LOG = "cut-log"
    COORDINATOR = "coordinator"
    TROUBLE = "trouble"
    RETENTION = "retention"
    PARTITIONS = "partitions"
    RECREATE = "recreate"
    THROTTLE = "throttle"
    NO_PROGRESS = "no-progress"
    ERRORS = "errors"
    LATE = "late"
    STALL = "stall"
    WALL_CLOCK = "wall-clock"
    RESOLVER = "resolver"


LINK = (
    Kind.CLOG_REQUESTS, Kind.CLOG_RESPONSES, Kind.CLOG, Kind.BLACKHOLE, Kind.REFUSE, Kind.SLOW, Kind.RATE,
    Kind.SEGMENTS, Kind.WINDOW, Kind.CUT, Kind.HALF_CLOSE, Kind.FORGOTTEN, Kind.ORPHAN, Kind.DAMAGE,
    Kind.UNREADABLE,
)  # fmt: skip
"""Kinds that concern one client and one node."""

ERRORS: dict[str, tuple[str, ...]] = {
    "Fetch": ("NOT_LEADER_OR_FOLLOWER", "UNKNOWN_SERVER_ERROR", "KAFKA_STORAGE_ERROR", "LEADER_NOT_AVAILABLE"),
    "ListOffsets": ("NOT_LEADER_OR_FOLLOWER", "OFFSET_NOT_AVAILABLE", "LEADER_NOT_AVAILABLE"),
    "Metadata": ("LEADER_NOT_AVAILABLE",),
    "FindCoordinator": ("COORDINATOR_NOT_AVAILABLE", "COORDINATOR_LOAD_IN_PROGRESS"),
    "OffsetCommit": (
        "NOT_COORDINATOR", "COORDINATOR_LOAD_IN_PROGRESS", "COORDINATOR_NOT_AVAILABLE", "REQUEST_TIMED_OUT",
        "UNKNOWN_TOPIC_OR_PARTITION", "UNKNOWN_MEMBER_ID",
    ),
    "OffsetFetch": ("NOT_COORDINATOR", "COORDINATOR_LOAD_IN_PROGRESS", "UNSTABLE_OFFSET_COMMIT"),
    "JoinGroup": (
        "NOT_COORDINATOR", "COORDINATOR_LOAD_IN_PROGRESS", "COORDINATOR_NOT_AVAILABLE", "INCONSISTENT_GROUP_PROTOCOL",
        "GROUP_MAX_SIZE_REACHED", "MEMBER_ID_REQUIRED", "REBALANCE_IN_PROGRESS",
    ),
    "SyncGroup": ("NOT_COORDINATOR", "COORDINATOR_LOAD_IN_PROGRESS", "REBALANCE_IN_PROGRESS"),
    "Heartbeat": ("NOT_COORDINATOR", "COORDINATOR_LOAD_IN_PROGRESS", "REBALANCE_IN_PROGRESS"),
    "ConsumerGroupHeartbeat": (
        "NOT_COORDINATOR", "COORDINATOR_LOAD_IN_PROGRESS", "COORDINATOR_NOT_AVAILABLE", "UNSUPPORTED_ASSIGNOR",
        "UNKNOWN_MEMBER_ID",
    ),
    "LeaveGroup": ("NOT_COORDINATOR", "COORDINATOR_LOAD_IN_PROGRESS"),
    "OffsetForLeaderEpoch": ("NOT_LEADER_OR_FOLLOWER", "LEADER_NOT_AVAILABLE"),
}  # fmt: skip
"""Codes that a cluster may give for a while, by API; some of them refuse a member."""
LATE = ("JoinGroup", "JoinGroup", "SyncGroup", "OffsetCommit", "ConsumerGroupHeartbeat")
"""APIs whose responses may come late, while those on other connections come in time."""


class Fault(NamedTuple):
    """Fault of a plan.

    Attributes:
        at_ms: start.
        kind: value of a `Kind`.
        node: node, 0 for all.
        client: client, empty for all.
        duration_ms: duration; unused for momentary faults.
        number: a size, share, or choice, depending on the kind.
        word: an API or a code, depending on the kind.
    """

    at_ms: int
    kind: str
    node: int = 0
    client: str = ""
    duration_ms: int = 0
    number: int = 0
    word: str = ""


class ClientPlan(NamedTuple):
    """One application: one consumer after the other under one name.

    Attributes:
        group: the group it is a member of; empty for one that assigns partitions to itself.
        properties: Kafka properties of its consumers.
        is_restless: whether its consumers live for seconds, and some end by a crash.
        pattern: whether it subscribes to a pattern.
        resubscribes: whether it often unsubscribes, subscribes again, and polls, with commits in flight.
    """

    name: str
    group: str
    properties: dict[str, str | int]
    is_restless: bool = False
    pattern: bool = False
    resubscribes: bool = False

    @property
    def is_member(self) -> bool:
        return bool(self.group)

    @property
    def is_static(self) -> bool:
        return "group.instance.id" in self.properties


class Plan(NamedTuple):
    """Everything a run is made of.

    Attributes: is_aio: whether the clients are for asyncio, on event loops.
    """

    seed: int
    kind: str
    chaos_ms: int
    clients: tuple[ClientPlan, ...]
    faults: tuple[Fault, ...]
    is_aio: bool = False

    @property
    def may_miss_partitions(self) -> bool:
        """True if changes of partitions may stay unnoticed while a leader is away.

        Static leaders that return must keep assignments that they did not compute (KIP-814). As in Java, they use the
        metadata of that moment for comparison and detect only later changes.
        """
        return any(client.is_static and "group.protocol" not in client.properties for client in self.clients)

    @property
    def has_strange_bytes(self) -> bool:
        """True if clients get bytes that brokers never send."""
        return is_strange(self.faults)

    @property
    def cuts_logs(self) -> bool:
        """True if logs are truncated."""
        return any(fault.kind == Kind.CUT_LOG.value for fault in self.faults)

    @property
    def digest(self) -> str:
        """A short hash of the plan."""
        return blake2b(to_json(self).encode(), digest_size=4).hexdigest()


_STRANGE = frozenset({Kind.DAMAGE.value, Kind.UNREADABLE.value, Kind.REJECT.value})


def is_strange(faults: Iterable[Fault]) -> bool:
    """Return whether clients get bytes that brokers never send: a damaged frame, or a response of another server."""
    return any(fault.kind in _STRANGE for fault in faults)


# --- files ------------------------------------------------------------------------------------------------------------


def to_json(plan: Plan) -> str:
    """Return the plan as text: one fault and one client a line."""
    head = {"seed": plan.seed, "kind": plan.kind, "chaos_ms": plan.chaos_ms, "is_aio": plan.is_aio}
    clients = ",\n  ".join(json.dumps(one._asdict()) for one in plan.clients)
    faults = ",\n  ".join(json.dumps(one._asdict()) for one in plan.faults)
    return json.dumps(head)[:-1] + f',\n "clients": [\n  {clients}],\n "faults": [\n  {faults}]}}\n'


def from_json(text: str) -> Plan:
    """Return the plan that `to_json` wrote."""
    read = json.loads(text)
    clients = tuple(ClientPlan(**one) for one in read["clients"])
    faults = tuple(Fault(**one) for one in read["faults"])
    return Plan(read["seed"], read["kind"], read["chaos_ms"], clients, faults, read.get("is_aio", False))


def load(path: Path) -> Plan:
    """Return the plan of a file."""
    return from_json(path.read_text())


# --- drawing ----------------------------------------------------------------------------------------------------------


def draw(seed: int) -> Plan:
    """Return the plan of a seed."""
    rng = Random(f"plan {seed}")
    kind, kinds = _kinds(rng)
    chaos_ms = rng.randint(8_000, 40_000)
    clients = _clients(rng, may_be_restless=kind != "calm")
    faults = _faults(rng, kinds, chaos_ms, clients)
    plan = Plan(seed, kind, chaos_ms, clients, tuple(faults))
    if plan.may_miss_partitions:
        faults = [fault for fault in faults if fault.kind != Kind.PARTITIONS.value]
    return _with_resubscriptions(_with_old_metadata(plan._replace(faults=tuple(faults))))


def _with_old_metadata(plan: Plan) -> Plan:
    """Let those who match a pattern keep their metadata for long where topics do not change: nobody may wait for it."""
    if any(fault.kind in (Kind.RECREATE.value, Kind.PARTITIONS.value) for fault in plan.faults):
        return plan
    aged: dict[str, str | int] = {"metadata.max.age.ms": OLD_METADATA_MS}
    clients = (one._replace(properties=one.properties | aged) if one.pattern else one for one in plan.clients)
    return plan._replace(clients=tuple(clients))


def _with_resubscriptions(plan: Plan) -> Plan:
    """Let some members resubscribe. Drawn from its own stream, which leaves the other draws of a seed unchanged."""
    rng = Random(f"resubscriptions {plan.seed}")
    clients = (one._replace(resubscribes=one.is_member and rng.random() < 0.3) for one in plan.clients)
    return plan._replace(clients=tuple(clients))


def _kinds(rng: Random) -> tuple[str, dict[Kind, int]]:
    """Return the class of the run, and the kinds of faults in it with their weights."""
    choice = rng.random()
    if choice < 0.05:
        return "calm", {}
    if choice < 0.15:
        return "pair", dict.fromkeys(rng.sample(list(Kind), rng.choice([1, 2])), 1)
    if choice < 0.30:
        return "all", dict.fromkeys(Kind, 1)
    off = rng.random()
    on = {kind: rng.randint(1, 100) for kind in Kind if rng.random() >= off}
    return "swarm", on or {rng.choice(list(Kind)): 1}


def _clients(rng: Random, *, may_be_restless: bool) -> tuple[ClientPlan, ...]:
    made: list[ClientPlan] = []
    groups = rng.choice([["g"], ["g"], ["g"], ["k"], ["k"], ["g", "k"], []])
    for group in groups:
        strategy = rng.choice(["range", "roundrobin", "sticky", "cooperative-sticky"])
        reset = rng.choice(["earliest", "earliest", "earliest", "earliest", "latest", "none"])
        pattern = rng.random() < 0.15
        is_static = rng.random() < 0.25
        for _ in range(rng.choice([1, 2, 2, 3])):
            name = f"c{len(made) + 1}"
            given: dict[str, str | int] = {"group.id": group, "auto.offset.reset": reset}
            given |= _limits(rng) | _of_member(rng, group, strategy)
            if is_static:
                given["group.instance.id"] = f"i-{name}"
            made.append(ClientPlan(name, group, given, may_be_restless and rng.random() < 0.5, pattern))
    for _ in range(rng.choice([0, 1] if made else [1, 2])):
        name = f"c{len(made) + 1}"
        given = _limits(rng)
        given["auto.offset.reset"] = rng.choice(["earliest", "earliest", "latest"])
        if rng.random() < 0.5:
            given["group.id"] = f"own-{name}"
            given["enable.auto.commit"] = rng.choice(["true", "false"])
        made.append(ClientPlan(name, "", given, may_be_restless and rng.random() < 0.3))
    return tuple(made)


def _limits(rng: Random) -> dict[str, str | int]:
    request_ms = rng.choice([1000, 5000, 30_000])
    return {
        "request.timeout.ms": request_ms,
        "default.api.timeout.ms": rng.choice([2000, 10_000, 60_000]),
        "max.poll.records": rng.choice([2, 7, 50, 500]),
        "max.partition.fetch.bytes": rng.choice([300, 5000, 1 << 20]),
        "fetch.max.wait.ms": rng.choice([200, 500, 500]),
        "isolation.level": rng.choice(["read_uncommitted", "read_committed"]),
        "metadata.max.age.ms": rng.choice([1000, 5000]),
    }


def _of_member(rng: Random, group: str, strategy: str) -> dict[str, str | int]:
    is_auto = rng.random() < 0.5
    given: dict[str, str | int] = {
        "enable.auto.commit": "true" if is_auto else "false",
        "auto.commit.interval.ms": rng.choice([300, 1000, 5000]),
        "max.poll.interval.ms": MAX_POLL_MS,
    }
    if group == "k":
        return {**given, "group.protocol": "consumer"}
    classic: dict[str, str | int] = {
        "session.timeout.ms": SESSION_MS,
        "heartbeat.interval.ms": rng.choice([300, 1000, 3000]),
        "partition.assignment.strategy": strategy,
    }
    return {**given, **classic}


def spread(
    rng: Random,
    kinds: Mapping[K, int],
    chaos_ms: int,
    gaps_ms: tuple[int, int],
    most: int,
    make: Callable[[K, int], F],
) -> list[F]:
    """Draw faults for the chaos, in order of time.

    Args:
        kinds: possible faults with their weights.
        gaps_ms: minimum and maximum of the mean distance.
        make: creates a fault from a kind and a time.
    """
    made: list[F] = []
    mean_ms = math.exp(rng.uniform(*(math.log(gap_ms) for gap_ms in gaps_ms)))
    at_ms = 0.0
    names = list(kinds)
    while kinds and len(made) < most:
        at_ms += rng.expovariate(1 / mean_ms)
        if at_ms >= chaos_ms:
            break
        made.append(make(rng.choices(names, list(kinds.values()))[0], int(at_ms)))
    return made


def _faults(rng: Random, kinds: dict[Kind, int], chaos_ms: int, clients: tuple[ClientPlan, ...]) -> list[Fault]:
    def make(kind: Kind, at_ms: int) -> Fault:
        return _fault(rng, kind, at_ms, rng.choice(clients))

    return spread(rng, kinds, chaos_ms, (200, 5000), 120, make)


def _fault(rng: Random, kind: Kind, at_ms: int, client: ClientPlan) -> Fault:
    node = rng.randint(1, NODES)
    whom = client.name if kind in LINK or kind is Kind.STALL else ""
    if kind in LINK and rng.random() < 0.3:
        node = 0
    number, word = size_of(rng, kind)
    return Fault(at_ms, kind.value, node, whom, _duration_ms(rng, kind, client), number, word)


def _duration_ms(rng: Random, kind: Kind, client: ClientPlan) -> int:
    """Half of them log-uniform, half at the edge of a limit of the victim: bugs live there."""
    if rng.random() < 0.5:
        return int(math.exp(rng.uniform(0, math.log(40_000))))
    limits = [int(client.properties["request.timeout.ms"]), int(client.properties["default.api.timeout.ms"])]
    if client.is_member:
        limits += [SESSION_MS, MAX_POLL_MS]
    if kind is Kind.STALL:
        limits = [SESSION_MS, MAX_POLL_MS] if client.is_member else limits[:1]
    return min(60_000, int(rng.choice(limits) * rng.choice([0.5, 0.999, 1, 1.001, 3])))


def size_of(rng: Random, kind: Kind) -> tuple[int, str]:
    """Draw the number and the word of a fault."""
    if kind is Kind.ERRORS:
        api = rng.choice(list(ERRORS))
        times = rng.choice([1, 2, 5, 20, 20] if api in ("JoinGroup", "SyncGroup") else [1, 1, 2, 5])
        return times, f"{api} {rng.choice(ERRORS[api])}"
    if kind is Kind.TROUBLE:
        codes = ["NOT_COORDINATOR", "COORDINATOR_LOAD_IN_PROGRESS", "COORDINATOR_NOT_AVAILABLE"]
        return 0, rng.choice(codes)
    if kind is Kind.LATE:
        return rng.choice([20, 200, 700, 3000]), rng.choice(LATE)
    if kind is Kind.RESOLVER:
        return 0, rng.choice(["fail", "slow"])
    sizes = {
        Kind.SLOW: [2, 20, 200, 1500],
        Kind.DELAY: [2, 20, 200, 1500],
        Kind.RATE: [1, 10, 100],
        Kind.SEGMENTS: [1, 7, 40],
        Kind.WINDOW: [1, 20, 500],
        Kind.THROTTLE: [1, 50, 1000],
        Kind.WALL_CLOCK: WALL_JUMPS_MS,
        Kind.ORPHAN: [1, 100, 1000, 4000],
        Kind.PARTITIONS: [1, 2],
    }
    return rng.choice(sizes[kind]) if kind in sizes else rng.randint(0, 99), ""
