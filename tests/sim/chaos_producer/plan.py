"""Plan of a producer run: cluster, applications, and faults, drawn in advance.

Faults of links, nodes, and leaders are in tests/sim/chaos/plan.py; others are here. Independent of clients and the
sandbox.
"""

import json
import math
from collections.abc import Sequence
from enum import Enum
from hashlib import blake2b
from random import Random
from typing import NamedTuple

from tests.sim.chaos.plan import LINK, NODES, WALL_JUMPS_MS, Fault, Kind, is_strange, size_of, spread

PARTITIONS = {"t": 3}
"""The topic of every run; it gets more partitions, and is never deleted."""
SIGN = "producer"
"""The word in files and on the command line for plans of this kind."""


class Extra(Enum):
    """Kind of fault in addition to `Kind`; the value is the word in a plan."""

    EXPIRE_PRODUCERS = "expire-producers"
    HOLD_MARKERS = "hold-markers"
    LAG = "lag"
    HOLD = "hold"
    SHRINK = "shrink"
    QUOTA = "quota"
    TOO_LARGE = "too-large"


SHARED = (
    *LINK, Kind.SWIZZLE, Kind.PAUSE, Kind.SILENCE, Kind.RESET_ON_REQUEST, Kind.DROP_ANSWERS, Kind.DELAY, Kind.CRASH,
    Kind.REJECT, Kind.LEADER, Kind.ELECTION, Kind.COORDINATOR, Kind.TROUBLE, Kind.PARTITIONS, Kind.THROTTLE,
    Kind.ERRORS, Kind.STALL, Kind.WALL_CLOCK, Kind.RESOLVER,
)  # fmt: skip
"""Kinds that producers meet as consumers do. Logs lose no committed end here, and no topic goes."""
KINDS = (*(kind.value for kind in SHARED), *(kind.value for kind in Extra))
_OF_CLIENTS = (*(kind.value for kind in LINK), Kind.STALL.value)
BEFORE_1970_MS = -60 * 365 * 86_400_000
"""Jump of a client's clock to a time that no record can have, in ms."""
_LASTING = {"wall-clock": 3000, "hold": 20_000, "shrink": 10_000, "lag": 40_000, "quota": 5000, "hold-markers": 5000}
"""The longest that some kinds may last: a cluster without replicas for minutes tells nothing new."""

ERRORS: dict[str, tuple[str, ...]] = {
    "Produce": (
        "NOT_LEADER_OR_FOLLOWER", "NOT_ENOUGH_REPLICAS", "NOT_ENOUGH_REPLICAS_AFTER_APPEND", "KAFKA_STORAGE_ERROR",
        "REQUEST_TIMED_OUT", "UNKNOWN_SERVER_ERROR", "INVALID_RECORD", "OUT_OF_ORDER_SEQUENCE_NUMBER",
        "UNKNOWN_TOPIC_OR_PARTITION", "MESSAGE_TOO_LARGE",
    ),
    "Metadata": ("LEADER_NOT_AVAILABLE",),
    "InitProducerId": ("COORDINATOR_LOAD_IN_PROGRESS", "NOT_COORDINATOR", "CONCURRENT_TRANSACTIONS"),
    "FindCoordinator": ("COORDINATOR_NOT_AVAILABLE", "COORDINATOR_LOAD_IN_PROGRESS"),
    "AddPartitionsToTxn": ("CONCURRENT_TRANSACTIONS", "NOT_COORDINATOR", "COORDINATOR_LOAD_IN_PROGRESS"),
    "AddOffsetsToTxn": ("CONCURRENT_TRANSACTIONS", "NOT_COORDINATOR", "COORDINATOR_NOT_AVAILABLE"),
    "TxnOffsetCommit": ("NOT_COORDINATOR", "COORDINATOR_LOAD_IN_PROGRESS", "REQUEST_TIMED_OUT"),
    "EndTxn": ("NOT_COORDINATOR", "CONCURRENT_TRANSACTIONS", "COORDINATOR_LOAD_IN_PROGRESS"),
}  # fmt: skip
"""Codes that a healthy cluster may give for a while, by API."""


class ClusterPlan(NamedTuple):
    """Broker settings.

    Attributes:
        replication_ms: replication delay of followers.
        lag_ms: replica.lag.time.max.ms.
        markers_ms: time to write the markers of a transaction.
    """

    transaction_version: int = 2
    replicas: int = 3
    min_insync: int = 1
    replication_ms: int = 0
    lag_ms: int = 3000
    markers_ms: int = 0


class ProducerClient(NamedTuple):
    """Application: one producer after the other under one name.

    Attributes:
        properties: Kafka properties of the producers.
        threads: number of additional threads that use the producer.
        is_restless: whether its producers live for seconds.
        closes_in_callback: whether some of them are closed by a callback.
        is_rival: whether another application has its transactional.id; it ends with the chaos.
    """

    name: str
    properties: dict[str, str | int]
    threads: int = 0
    is_restless: bool = False
    closes_in_callback: bool = False
    is_rival: bool = False

    @property
    def transactional_id(self) -> str:
        return str(self.properties.get("transactional.id", ""))

    @property
    def acks(self) -> str:
        return str(self.properties.get("acks", "all"))

    @property
    def exit_limit_ms(self) -> int:
        """Maximum time of its producers at program exit, in ms."""
        return int(self.properties["max.block.ms" if self.transactional_id else "delivery.timeout.ms"])

    @property
    def is_idempotent(self) -> bool:
        return self.properties.get("enable.idempotence", "true") == "true"


class AbortPlan(NamedTuple):
    """Abort of a transaction with batches of one partition in flight, after the run.

    Attributes:
        delivery_ms: delivery.timeout.ms and request.timeout.ms.
        backoff_ms: retry.backoff.ms.
        batches: number of batches before the abort.
        gap_ms: time between them.
        rejections: number of Produce requests that the leader rejects.
        delay_ms: delay of the leader.
        freezes: whether the leader freezes when the first batch is delivered.
        abort_after_ms: time from the last batch to the abort.
        heal_after_ms: time from the start of the abort to the end of the faults.
        is_other_first: whether the next transaction begins with another partition.
    """

    delivery_ms: int
    backoff_ms: int
    batches: int
    gap_ms: int
    rejections: int = 0
    delay_ms: int = 0
    freezes: bool = False
    abort_after_ms: int = 0
    heal_after_ms: int = 0
    is_other_first: bool = False


class ProducerPlan(NamedTuple):
    """Everything a run is made of.

    Attributes:
        is_aio: whether the producers are for asyncio, on event loops.
        aborts: aborts after the chaos, each by a producer of its own.
    """

    seed: int
    kind: str
    chaos_ms: int
    cluster: ClusterPlan
    clients: tuple[ProducerClient, ...]
    faults: tuple[Fault, ...]
    is_aio: bool = False
    aborts: tuple[AbortPlan, ...] = ()

    @property
    def transactional_ids(self) -> list[str]:
        """The transactional ids in use."""
        return list(dict.fromkeys(one.transactional_id for one in self.clients if one.transactional_id))

    @property
    def has_strange_bytes(self) -> bool:
        """True if clients get bytes that brokers never send."""
        return is_strange(self.faults)

    @property
    def digest(self) -> str:
        """A short hash of the plan."""
        return blake2b(to_json(self).encode(), digest_size=4).hexdigest()


# --- files ------------------------------------------------------------------------------------------------------------


def to_json(plan: ProducerPlan) -> str:
    """Return the plan as text: one fault and one client a line."""
    head = {"of": SIGN, "seed": plan.seed, "kind": plan.kind, "chaos_ms": plan.chaos_ms, "is_aio": plan.is_aio}
    clients = ",\n  ".join(json.dumps(one._asdict()) for one in plan.clients)
    faults = ",\n  ".join(json.dumps(one._asdict()) for one in plan.faults)
    cluster = json.dumps(plan.cluster._asdict())
    aborts = json.dumps([one._asdict() for one in plan.aborts])
    text = json.dumps(head)[:-1] + f',\n "cluster": {cluster},\n "aborts": {aborts},\n'
    return text + f' "clients": [\n  {clients}],\n "faults": [\n  {faults}]}}\n'


def from_json(text: str) -> ProducerPlan:
    """Return the plan that `to_json` wrote."""
    read = json.loads(text)
    clients = tuple(ProducerClient(**one) for one in read["clients"])
    faults = tuple(Fault(**one) for one in read["faults"])
    cluster, is_aio = ClusterPlan(**read["cluster"]), read.get("is_aio", False)
    aborts = tuple(AbortPlan(**one) for one in read.get("aborts", ()))
    return ProducerPlan(read["seed"], read["kind"], read["chaos_ms"], cluster, clients, faults, is_aio, aborts)


# --- drawing ----------------------------------------------------------------------------------------------------------


def draw(seed: int) -> ProducerPlan:
    """Return the plan of a seed."""
    rng = Random(f"producer plan {seed}")
    kind, kinds = _kinds(rng)
    chaos_ms = rng.randint(4000, 20_000)
    cluster = _cluster(rng)
    clients = _clients(rng, is_calm=kind == "calm")
    faults = _faults(rng, kinds, chaos_ms, clients)
    return ProducerPlan(seed, kind, chaos_ms, cluster, clients, tuple(faults), aborts=_aborts(seed))


def _aborts(seed: int) -> tuple[AbortPlan, ...]:
    """Draw two aborts from their own stream: with batches that expire in flight, and with rejected batches.

    A batch expires in its first attempt if an earlier batch, which was rejected before, is retried until then.
    """
    rng = Random(f"aborts {seed}")
    delivery_ms = rng.choice([1000, 1500, 2000])
    expiring = AbortPlan(
        delivery_ms=delivery_ms,
        backoff_ms=500,
        batches=rng.choice([2, 2, 3]),
        gap_ms=rng.choice([1, 10, 100, 100]),
        rejections=1,
        freezes=True,
        abort_after_ms=delivery_ms + rng.choice([-50, 1, 50, 200]),
        heal_after_ms=rng.choice([1, 10, 100]),
        is_other_first=rng.random() < 0.25,
    )
    rejected = AbortPlan(
        delivery_ms=rng.choice([2000, 5000]),
        backoff_ms=rng.choice([100, 500]),
        batches=rng.choice([2, 2, 3, 5]),
        gap_ms=rng.choice([1, 3, 10]),
        rejections=rng.choice([1, 2, 3, 5]),
        delay_ms=rng.choice([0, 10, 50, 50]),
        abort_after_ms=rng.choice([0, 1, 5, 20]),
        heal_after_ms=rng.choice([100, 200]),
        is_other_first=rng.random() < 0.75,
    )
    return expiring, rejected


def _kinds(rng: Random) -> tuple[str, dict[str, int]]:
    """Return the class of the run, and the kinds of faults in it with their weights."""
    choice = rng.random()
    if choice < 0.05:
        return "calm", {}
    if choice < 0.15:
        return "pair", dict.fromkeys(rng.sample(KINDS, rng.choice([1, 2])), 1)
    if choice < 0.30:
        return "all", dict.fromkeys(KINDS, 1)
    off = rng.random()
    on = {kind: rng.randint(1, 100) for kind in KINDS if rng.random() >= off}
    return "swarm", on or {rng.choice(KINDS): 1}


def _cluster(rng: Random) -> ClusterPlan:
    return ClusterPlan(
        transaction_version=rng.choice([1, 2, 2]),
        replicas=rng.choice([1, 3, 3]),
        min_insync=rng.choice([1, 2, 3]),
        replication_ms=rng.choice([0, 0, 2, 30, 120]),
        lag_ms=rng.choice([1000, 3000, 30_000]),
        markers_ms=rng.choice([0, 0, 5, 200]),
    )


def _clients(rng: Random, *, is_calm: bool) -> tuple[ProducerClient, ...]:
    made: list[ProducerClient] = []

    def add(properties: dict[str, str | int], *, is_rival: bool = False) -> None:
        threads = rng.choice([0, 0, 1, 2])
        is_restless = not is_calm and rng.random() < 0.6
        in_callback = not is_calm and rng.random() < 0.3
        made.append(
            ProducerClient(f"p{len(made) + 1}", properties, threads, is_restless, in_callback, is_rival=is_rival)
        )

    for _ in range(rng.choice([0, 1, 1, 2])):
        add(_limits(rng) | _guarantees(rng))
    for number in range(rng.choice([0, 1, 1]) if made else 1):
        properties = _limits(rng) | {
            "transactional.id": f"x{number + 1}",
            "transaction.timeout.ms": rng.choice([2000, 10_000, 30_000]),
            "retries": 2**31 - 1,  # a few are over while a broker writes the markers of the transaction before
        }
        add(properties)
        if not is_calm and rng.random() < 0.3:
            add(
                _limits(rng)
                | {key: properties[key] for key in ("transactional.id", "transaction.timeout.ms", "retries")},
                is_rival=True,
            )
    return tuple(made)


def _guarantees(rng: Random) -> dict[str, str | int]:
    acks = rng.choice(["all", "all", "all", "all", "1", "0"])
    is_idempotent = acks == "all" and rng.random() < 0.75
    return {"acks": acks, "enable.idempotence": "true" if is_idempotent else "false"}


def _limits(rng: Random) -> dict[str, str | int]:
    linger_ms = rng.choice([0, 5, 100, 1000])
    request_ms = rng.choice([500, 1000, 5000])
    block_ms = rng.choice([100, 2000, 10_000])
    return {
        "request.timeout.ms": request_ms,
        "delivery.timeout.ms": max(linger_ms + request_ms, rng.choice([1500, 2000, 8000, 20_000])),
        "linger.ms": linger_ms,
        "batch.size": rng.choice([0, 300, 16_384]),
        "buffer.memory": rng.choice([3000, 3000, 50_000, 33_554_432]),
        "max.request.size": 2000,
        "max.block.ms": block_ms,
        "max.in.flight.requests.per.connection": rng.choice([1, 2, 5, 5]),
        "retries": rng.choice([3, 2**31 - 1, 2**31 - 1, 2**31 - 1]),
        "retry.backoff.ms": rng.choice([10, 100]),
        "compression.type": rng.choice(["none", "none", "gzip", "lz4"]),
        "socket.connection.setup.timeout.ms": min(block_ms, rng.choice([300, 1000, 10_000])),
        "connections.max.idle.ms": rng.choice([400, 5000, 540_000]),
        "metadata.max.age.ms": rng.choice([500, 5000, 300_000]),
        "metadata.max.idle.ms": rng.choice([5000, 300_000]),
        "partitioner.adaptive.partitioning.enable": rng.choice(["true", "false"]),
    }


def _faults(rng: Random, kinds: dict[str, int], chaos_ms: int, clients: Sequence[ProducerClient]) -> list[Fault]:
    def make(kind: str, at_ms: int) -> Fault:
        return _fault(rng, kind, at_ms, rng.choice(clients))

    return spread(rng, kinds, chaos_ms, (150, 3000), 80, make)


def _fault(rng: Random, kind: str, at_ms: int, client: ProducerClient) -> Fault:
    node = rng.randint(1, NODES)
    whom = client.name if kind in _OF_CLIENTS else ""
    if whom and kind != Kind.STALL.value and rng.random() < 0.3:
        node = 0
    number, word = _size(rng, kind)
    duration_ms = _duration_ms(rng, kind, client)
    if number == BEFORE_1970_MS:
        whom, duration_ms = client.name, max(300, duration_ms)
    return Fault(at_ms, kind, node, whom, duration_ms, number, word)


def _size(rng: Random, kind: str) -> tuple[int, str]:
    """Draw the number and the word of a fault."""
    if kind == Kind.ERRORS.value:
        api = rng.choice(list(ERRORS))
        return rng.choice([1, 1, 2, 5]), f"{api} {rng.choice(ERRORS[api])}"
    if kind == Kind.WALL_CLOCK.value:
        return rng.choice([*WALL_JUMPS_MS, *[BEFORE_1970_MS] * 4]), ""
    if kind == Extra.QUOTA.value:
        return rng.choice([300, 3000, 30_000]), ""
    if kind == Extra.TOO_LARGE.value:
        return rng.choice([150, 400, 1200]), ""
    if kind in {one.value for one in Extra}:
        return rng.randint(0, 99), ""
    return size_of(rng, Kind(kind))


def _duration_ms(rng: Random, kind: str, client: ProducerClient) -> int:
    """Half of them log-uniform, half at the edge of a limit of the victim: bugs live there."""
    longest_ms = _LASTING.get(kind, 30_000)
    if rng.random() < 0.5:
        return min(longest_ms, int(math.exp(rng.uniform(0, math.log(20_000)))))
    names = ["request.timeout.ms", "delivery.timeout.ms", "max.block.ms", "linger.ms"]
    if client.transactional_id:
        names.append("transaction.timeout.ms")
    limit_ms = int(client.properties[rng.choice(names)])
    return min(longest_ms, int(limit_ms * rng.choice([0.5, 0.999, 1, 1.001, 3])))
