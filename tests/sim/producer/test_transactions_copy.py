"""Read, process, write under seeded faults: every input record is in the output exactly once.

Rule names are the invariants of the simulation: T3 a transaction entirely or not at all, T4 exactly once, with the
committed offset equal to it; D1 each call by its deadline.

    python -m tests.sim.producer.test_transactions_copy 0 1000      # seeds other than the default ones
"""

import sys
from collections.abc import Callable, Mapping
from random import Random

import pytest

from kctl.client.broker_errors import ErrorCode
from kctl.client.cluster import TopicPartition
from kctl.client.consumer.consumer import Consumer, ConsumerRecord
from kctl.client.errors import (
    AbortableTransactionError,
    FatalTransactionError,
    IllegalStateError,
    KafkaError,
    MaxBlockTimeout,
)
from kctl.client.producer import Producer
from kctl.sandbox import ClusterSettings, Fault
from tests.sim.kit import SimCluster, run
from tests.sim.kit.transactions import NAME, committed, seen

SEEDS = [
    *range(5),
    *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(5, 30)),
    *(pytest.param(seed, marks=pytest.mark.nightly) for seed in range(30, 100)),
]
PARTITIONS = 2
RECORDS = 80
CHAOS_MS = 15_000
QUIET_MS = 180_000
"""So long after the last fault everything must be copied."""
CALL_MS = 3000
REFUSALS = {
    "InitProducerId": [ErrorCode.CONCURRENT_TRANSACTIONS, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS],
    "AddPartitionsToTxn": [ErrorCode.CONCURRENT_TRANSACTIONS, ErrorCode.TRANSACTION_ABORTABLE],
    "AddOffsetsToTxn": [ErrorCode.NOT_COORDINATOR, ErrorCode.CONCURRENT_TRANSACTIONS],
    "TxnOffsetCommit": [ErrorCode.NOT_COORDINATOR, ErrorCode.ILLEGAL_GENERATION, ErrorCode.REQUEST_TIMED_OUT],
    "EndTxn": [ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.CONCURRENT_TRANSACTIONS],
    "Produce": [ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, ErrorCode.INVALID_RECORD],
}


def plan_faults(cluster: SimCluster, rng: Random) -> None:
    """Break nodes, move leaders and coordinators and refuse requests until CHAOS_MS, then heal everything."""
    at_ms = 0
    sandbox = cluster.sandbox

    def do(action: Callable[[], None]) -> None:
        cluster.at(at_ms, action)

    while (at_ms := at_ms + rng.randrange(50, 1500)) < CHAOS_MS:
        node_id, partition, kind = rng.randrange(1, 4), rng.randrange(PARTITIONS), rng.random()
        if kind < 0.25:
            api = rng.choice(list(REFUSALS))
            code, times = rng.choice(REFUSALS[api]), rng.choice([1, 1, 2, 4])
            do(lambda a=api, c=code, t=times: sandbox.fail_requests(a, c, times=t))  # type: ignore[misc]  # a default has no type for mypy
        elif kind < 0.35:
            do(lambda p=partition, n=node_id: sandbox.move_leader("out", p, n))  # type: ignore[misc]  # a default has no type for mypy
        elif kind < 0.5:
            do(lambda n=node_id: sandbox.move_transaction_coordinator(NAME, n))  # type: ignore[misc]  # a default has no type for mypy
        elif kind < 0.55:
            do(lambda n=node_id: sandbox.move_coordinator("g", n))  # type: ignore[misc]  # a default has no type for mypy
        else:
            fault = rng.choice(list(Fault))
            ms = rng.choice([20, 900, 1100]) if fault is Fault.DELAY else 0
            do(lambda n=node_id, f=fault, m=ms: sandbox.start_fault(n, f, ms=m))  # type: ignore[misc]  # a default has no type for mypy
            healed_ms = at_ms + rng.choice([1, 80, 1000, 1001, 4000])
            cluster.at(healed_ms, lambda n=node_id, f=fault: sandbox.stop_fault(n, f))  # type: ignore[misc]  # a default has no type for mypy
    cluster.at(CHAOS_MS, sandbox.heal)


class Copier:
    """Instances of one transactional.id, one after the other, which copy topic `in` to topic `out`."""

    def __init__(self, cluster: SimCluster, rng: Random, properties: Mapping[str, object]) -> None:
        self.world = cluster
        self.rng = rng
        self.properties = properties
        self.done: dict[TopicPartition, int] = {}
        """Next input offsets after the last successful commit."""
        self.transactions = 0
        self.aborts = 0
        self.instances = 0

    @property
    def is_done(self) -> bool:
        return len(self.done) == PARTITIONS and sum(self.done.values()) == RECORDS

    def run(self) -> None:
        while not self.is_done:
            assert self.world.clock.now_ms() < CHAOS_MS + QUIET_MS, "the copy does not get on any more"
            self.instances += 1
            producer = self.world.producer({"transactional.id": NAME, "max.block.ms": CALL_MS, **self.properties})
            consumer = Consumer(
                {
                    "bootstrap.servers": self.world.bootstrap,
                    "group.id": "g",
                    "enable.auto.commit": False,
                    "auto.offset.reset": "earliest",
                    "max.poll.records": 7,
                    "session.timeout.ms": 6000,
                    "max.poll.interval.ms": 20_000,  # a JoinGroup with a lost response expires only then
                    "isolation.level": "read_committed",
                },
                self.world.runtime,
            )
            try:
                self._live(producer, consumer)
            except FatalTransactionError:
                pass
            finally:
                timeout_ms = self.rng.choice([0, 0, 100, 2000])
                before_ms = self.world.clock.now_ms()
                producer.close(timeout_ms / 1000)
                assert self.world.clock.now_ms() - before_ms <= timeout_ms, "D1"
                consumer.close(timeout_ms / 1000)

    def _live(self, producer: Producer, consumer: Consumer) -> None:
        self._call(producer.init_transactions)
        consumer.subscribe(["in"])
        while not self.is_done and self.world.clock.now_ms() < CHAOS_MS + QUIET_MS:
            records = consumer.poll(timeout=1)
            if not records:
                self._learn(consumer)
                continue
            if not self._copy(producer, consumer, records):
                self.aborts += 1
                self._call(producer.abort_transaction)
                self._go_back(consumer)
            self.world.hub.sleep_ms(self.rng.choice([0, 0, 300, 1000, 2000]))
            if self.rng.random() < 0.03:
                return  # as if it were killed, or closed

    def _copy(self, producer: Producer, consumer: Consumer, records: list[ConsumerRecord]) -> bool:
        """Copy in one transaction; return whether it was committed."""
        self.transactions += 1
        after = {TopicPartition(record.topic, record.partition): record.offset + 1 for record in records}
        try:
            producer.begin_transaction()
            for number, record in enumerate(records):
                assert record.value is not None
                tagged = b"%d/%d %s" % (self.transactions, len(records), record.value)
                producer.send("out", tagged, partition=number % PARTITIONS)
                self.world.hub.sleep_ms(self.rng.choice([0, 0, 1, 30]))
            member = consumer.group_metadata()
            try:
                self._timed(lambda: producer.send_offsets_to_transaction(after, member))
            except MaxBlockTimeout:
                return False  # given up: that is allowed for offsets
            if self.rng.random() < 0.1:
                return False
            self._call(producer.commit_transaction)
        except (AbortableTransactionError, MaxBlockTimeout):
            return False
        self.done.update(after)
        return True

    def _call(self, call: Callable[[], None]) -> None:
        """Make a call until it ends otherwise than by its limit."""
        while True:
            try:
                self._timed(call)
            except MaxBlockTimeout:
                assert self.world.clock.now_ms() < CHAOS_MS + QUIET_MS, "a call that never ends"
                continue
            return

    def _timed(self, call: Callable[[], None]) -> None:
        before_ms = self.world.clock.now_ms()
        try:
            call()
        finally:
            assert self.world.clock.now_ms() - before_ms <= CALL_MS, "D1"

    def _go_back(self, consumer: Consumer) -> None:
        """Seek to the committed offsets. Without a response, the next instance does so."""
        try:
            for partition, found in consumer.committed(list(consumer.assignment), timeout=20).items():
                consumer.seek(partition, 0 if found is None else found.offset)
        except (KafkaError, IllegalStateError) as error:
            raise FatalTransactionError(error) from error

    def _learn(self, consumer: Consumer) -> None:
        """Take what an instance before this one has committed and was not told of."""
        for partition in consumer.assignment:
            try:
                found = consumer.committed([partition], timeout=1)[partition]
            except KafkaError:
                continue
            if found is not None:
                self.done[partition] = found.offset


def copy(seed: int) -> Copier:
    """Run one seed and check the output."""
    rng = Random(seed)
    version = rng.choice([1, 2])
    properties: dict[str, object] = {
        "linger.ms": rng.choice([0, 5, 100]),
        "request.timeout.ms": rng.choice([800, 2000, 5000]),
        "delivery.timeout.ms": 5100,
        "transaction.timeout.ms": rng.choice([4000, 60_000]),
    }
    copiers: list[Copier] = []

    def app(cluster: SimCluster) -> None:
        with cluster.producer() as filler:
            for number in range(RECORDS):
                filler.send("in", b"%d" % number, partition=number % PARTITIONS)
        plan_faults(cluster, rng)
        copier = Copier(cluster, rng, properties)
        copiers.append(copier)
        copier.run()
        values = [value or b"" for value in seen(cluster, "out")]
        assert sorted(int(value.split()[1]) for value in values) == list(range(RECORDS)), "T4: exactly once"
        parts: dict[bytes, int] = {}
        for value in values:
            tag = value.split()[0]
            parts[tag] = parts.get(tag, 0) + 1
        assert all(count == int(tag.split(b"/")[1]) for tag, count in parts.items()), "T3: whole"
        for partition in range(PARTITIONS):
            offset = committed(cluster, TopicPartition("in", partition))
            assert offset == RECORDS // PARTITIONS, "T4: the committed offset"

    settings = ClusterSettings(transaction_version=version)
    run(app, topics={"in": PARTITIONS, "out": PARTITIONS}, seed=seed, settings=settings)
    return copiers[0]


@pytest.mark.parametrize("seed", SEEDS)
def test_every_record_is_copied_exactly_once(seed: int) -> None:
    copy(seed)


if __name__ == "__main__":
    for each in range(int(sys.argv[1]), int(sys.argv[2])):
        try:
            copy(each)
        except BaseException:
            sys.stderr.write(f"seed {each}\n")
            raise
