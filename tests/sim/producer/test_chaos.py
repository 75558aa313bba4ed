"""Seeded faults on links, nodes and leaders; what the producer says afterwards must be what the logs hold.

Names of the rules are those of the simulation's invariants: P1 lost write, P2 duplicate, P3 inconsistent offsets,
P4 order, P6 a failed record that is read, P7 each future once and by its deadline, P8 a close by its deadline.

    python -m tests.sim.producer.test_chaos 0 1000          # other seeds than those that are always run
"""

import sys
from contextlib import suppress
from random import Random

import pytest

from kctl.client.broker_errors import ErrorCode
from kctl.client.errors import KafkaError
from kctl.client.producer import SendFuture
from kctl.client.producer.future import Outcome
from kctl.sandbox import Fault
from kctl.sandbox.sim import LinkProfile
from tests.sim.producer.world import World, run

SEEDS = range(40)
REFUSALS = [
    ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.NOT_ENOUGH_REPLICAS,
    ErrorCode.KAFKA_STORAGE_ERROR,
    ErrorCode.INVALID_RECORD,
    ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
    ErrorCode.REQUEST_TIMED_OUT,
    ErrorCode.UNKNOWN_SERVER_ERROR,
]
"""What a healthy node may answer to a whole Produce request, without carrying it out."""
PARTITIONS = 3
CHAOS_MS = 20_000


class Sent:
    """One record as the application saw it."""

    def __init__(self, future: SendFuture, value: bytes, at_ms: int) -> None:
        self.future = future
        self.value = value
        self.at_ms = at_ms
        self.done_at_ms: list[int] = []


def plan_faults(world: World, chance: Random) -> None:
    """Break nodes and move leaders until CHAOS_MS, then heal everything."""
    at_ms = 0
    while (at_ms := at_ms + chance.randrange(50, 3000)) < CHAOS_MS:
        node_id = chance.randrange(1, 4)
        kind = chance.random()
        if kind < 0.25:
            code, times = chance.choice(REFUSALS), chance.choice([1, 1, 2, 5])
            world.at(at_ms, lambda n=node_id, c=code, t=times: refuse(world, n, c, t))  # type: ignore[misc]  # bound defaults
            continue
        if kind < 0.5:
            partition = chance.randrange(PARTITIONS)
            world.at(at_ms, lambda p=partition, n=node_id: world.sandbox.move_leader("t", p, n))  # type: ignore[misc]  # bound defaults
            continue
        fault = chance.choice(list(Fault))
        ms = chance.choice([20, 900, 1100, 4000]) if fault is Fault.DELAY else 0
        world.at(at_ms, lambda n=node_id, f=fault, m=ms: world.sandbox.start_fault(n, f, ms=m))  # type: ignore[misc]  # bound defaults
        healed_ms = at_ms + chance.choice([1, 80, 1000, 1001, 5000])
        world.at(healed_ms, lambda n=node_id, f=fault: world.sandbox.stop_fault(n, f))  # type: ignore[misc]  # bound defaults
    world.at(CHAOS_MS, world.sandbox.heal)


def refuse(world: World, node_id: int, code: ErrorCode, times: int) -> None:
    world.sandbox.fail_requests("Produce", code, times=times, node_id=node_id)


def send_all(world: World, chance: Random, properties: dict[str, object]) -> tuple[list[Sent], tuple[int, int, int]]:
    producer = world.producer(properties)
    records: list[Sent] = []
    while world.clock.now_ms() < CHAOS_MS:
        value = b"%d" % len(records)
        at_ms = world.clock.now_ms()
        done_at_ms: list[int] = []
        try:
            future = producer.send(
                "t",
                value,
                partition=len(records) % PARTITIONS,
                callback=lambda _, d=done_at_ms: d.append(world.clock.now_ms()),  # type: ignore[misc]  # a bound default
            )
        except KafkaError:
            continue
        record = Sent(future, value, world.clock.now_ms())
        record.done_at_ms = done_at_ms
        assert record.at_ms - at_ms <= producer.config.max_block_ms
        records.append(record)
        world.hub.sleep_ms(chance.choice([0, 0, 1, 5, 40, 300]))
    if chance.random() < 0.7:
        with suppress(KafkaError):  # the futures tell which
            producer.flush()
    close_ms = chance.choice([0, 1, 300, 5000])
    at_ms = world.clock.now_ms()
    result = producer.close(close_ms / 1000)
    assert world.clock.now_ms() - at_ms <= close_ms, "P8"
    metrics = producer.metrics()
    assert metrics[4:7] == result[:3]
    assert (metrics.records_outstanding, metrics.batches_in_flight, metrics.buffer_used_bytes) == (0, 0, 0)
    return records, (result.delivered, result.failed, result.unknown)


def outcome_of(record: Sent) -> Outcome:
    assert record.future.outcome is not None
    return record.future.outcome


def check(world: World, records: list[Sent], counts: tuple[int, int, int], properties: dict[str, object]) -> None:
    delivery_ms = int(str(properties["delivery.timeout.ms"]))
    logs = [world.values("t", partition) for partition in range(PARTITIONS)]
    is_ordered = bool(properties["enable.idempotence"]) or properties["max.in.flight.requests.per.connection"] == "1"
    told = {"delivered": 0, "failed": 0, "unknown": 0}
    last_offset = [-1] * PARTITIONS
    for number, record in enumerate(records):
        assert len(record.done_at_ms) == 1, "P7: once"
        assert record.done_at_ms[0] - record.at_ms <= delivery_ms, "P7: by its deadline"
        partition = number % PARTITIONS
        log = logs[partition]
        outcome = outcome_of(record)
        if outcome.error is None:
            told["delivered"] += 1
            offset = record.future.result(0).offset
            if offset >= 0:
                assert log[offset] == record.value, "P3: it is where it is said to be"
                assert offset > last_offset[partition] or not is_ordered, "P4: in order"
                last_offset[partition] = offset
            assert record.value in log, "P1: nothing acknowledged is lost"
        elif outcome.is_unknown:
            told["unknown"] += 1
        else:
            told["failed"] += 1
            assert record.value not in log, "P6: what failed is not there"
    assert counts == tuple(told.values())
    if properties["enable.idempotence"]:
        for log in logs:
            assert len(set(log)) == len(log), "P2: nothing twice"
            numbers = [int(value) for value in log if value is not None]
            assert numbers == sorted(numbers), "P4: what is there is in order"


@pytest.mark.parametrize("seed", SEEDS)
def test_what_is_told_is_what_happened(seed: int) -> None:
    run_seed(seed)


def run_seed(seed: int) -> None:
    chance = Random(seed)
    properties: dict[str, object] = {
        "enable.idempotence": chance.random() < 0.7,
        "acks": "all",
        "request.timeout.ms": str(chance.choice([500, 1000, 3000])),
        "delivery.timeout.ms": str(chance.choice([4000, 8000, 30_000])),
        "linger.ms": str(chance.choice([0, 5, 100])),
        "batch.size": str(chance.choice([0, 300, 16384])),
        "buffer.memory": str(chance.choice([3000, 33_554_432])),
        "max.request.size": "2000",
        "max.block.ms": "2000",
        "max.in.flight.requests.per.connection": str(chance.choice([1, 2, 3, 5, 5, 5])),
        "socket.connection.setup.timeout.ms": str(chance.choice([300, 1000, 2000])),
        "connections.max.idle.ms": str(chance.choice([400, 540_000])),
        "metadata.max.age.ms": str(chance.choice([500, 300_000])),
    }
    outcome: list[tuple[list[Sent], tuple[int, int, int]]] = []

    def app(world: World) -> None:
        world.network.profile = LinkProfile(latency_ms=1, jitter_ms=3, segment_bytes=40)
        plan_faults(world, chance)
        outcome.append(send_all(world, chance, properties))

    world = run(app, topics={"t": PARTITIONS}, seed=seed)
    records, counts = outcome[0]
    assert len(records) > 100
    check(world, records, counts, properties)


if __name__ == "__main__":
    for each in range(int(sys.argv[1]), int(sys.argv[2])):
        try:
            run_seed(each)
        except BaseException:
            sys.stderr.write(f"seed {each}\n")
            raise
