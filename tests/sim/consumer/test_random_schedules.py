"""Seeded schedules of faults, leader moves, retention, seeks and pauses: nothing is skipped, repeated or late.

The model is one number a partition: the offset that must come next. It moves only by what a poll returns, by a seek, or
up to the log's start when retention passed it. Each poll ends on its millisecond. At the end the faults heal and
every partition must reach its end.
"""

from random import Random

import pytest

from kctl.client.cluster import TopicPartition
from kctl.client.consumer.consumer import Consumer, ConsumerRecord
from kctl.client.errors import ApiTimeout, KafkaError
from kctl.sandbox import Fault
from kctl.sandbox.sim import Hub
from tests.sim.consumer.scene import Scene

PARTITIONS = 5
STEPS = 60


class Run:
    """One consumer, one model of it, and a generator of trouble."""

    def __init__(self, scene: Scene, seed: int) -> None:
        self.scene = scene
        self.chance = Random(seed)
        self.expected: dict[TopicPartition, int] = {TopicPartition("t", i): 0 for i in range(PARTITIONS)}
        self.written = [0] * PARTITIONS
        self.log = [scene.sandbox.cluster.topics["t"].partitions[i].log for i in range(PARTITIONS)]
        self.consumer: Consumer = scene.consumer(
            max_poll_records=self.chance.choice([1, 7, 500]),
            max_partition_fetch_bytes=self.chance.choice([100, 2000, 1 << 20]),
            fetch_max_wait_ms=self.chance.choice([0, 50, 500]),
            request_timeout_ms=self.chance.choice([1000, 5000, 30_000]),
        )
        self.consumer.assign(self.expected)
        for tp in self.expected:
            self.consumer.seek(tp, 0)

    def step(self) -> None:
        action = self.chance.choices(
            [self.poll, self.write, self.fault, self.heal, self.move, self.seek, self.pause, self.ask, self.trim],
            [40, 15, 6, 4, 8, 6, 5, 5, 2],
        )[0]
        action()

    def poll(self) -> None:
        timeout_ms = self.chance.choice([0, 5, 50, 300, 1000])
        before_ms = self.scene.hub.now_ms
        records = self.consumer.poll(timeout=timeout_ms / 1000)
        elapsed_ms = self.scene.hub.now_ms - before_ms
        assert elapsed_ms <= timeout_ms
        assert records or elapsed_ms == timeout_ms
        self.check(records)

    def check(self, records: list[ConsumerRecord]) -> None:
        for record in records:
            tp = TopicPartition(record.topic, record.partition)
            if record.offset != self.expected[tp]:
                assert record.offset == self.log[tp.partition].start_offset > self.expected[tp], (
                    record,
                    self.expected[tp],
                )
            assert record.value == b"%d" % record.offset
            self.expected[tp] = record.offset + 1
        for tp in {TopicPartition(record.topic, record.partition): None for record in records}:
            assert self.consumer.position(tp, timeout=0) == self.expected[tp]
            assert tp not in self.consumer.paused

    def write(self) -> None:
        for _ in range(self.chance.randint(1, 5)):
            index = self.chance.randrange(PARTITIONS)
            count = self.chance.randint(1, 40)
            self.scene.write(index, count, first=self.written[index])
            self.written[index] += count

    def fault(self) -> None:
        fault = self.chance.choice([fault for fault in Fault if fault is not Fault.DELAY])
        self.scene.sandbox.start_fault(self.chance.randint(1, 3), fault)

    def heal(self) -> None:
        self.scene.sandbox.heal()

    def move(self) -> None:
        self.scene.sandbox.move_leader("t", self.chance.randrange(PARTITIONS), self.chance.randint(1, 3))

    def seek(self) -> None:
        tp = self.chance.choice(list(self.expected))
        log = self.log[tp.partition]
        self.expected[tp] = self.chance.randint(log.start_offset, log.end_offset)
        self.consumer.seek(tp, self.expected[tp])

    def pause(self) -> None:
        tp = self.chance.choice(list(self.expected))
        (self.consumer.resume if tp in self.consumer.paused else self.consumer.pause)([tp])

    def ask(self) -> None:
        before_ms = self.scene.hub.now_ms
        try:
            ends = self.consumer.end_offsets(self.expected, timeout=0.5)
        except ApiTimeout:
            assert self.scene.hub.now_ms - before_ms == 500
        else:
            assert self.scene.hub.now_ms - before_ms <= 500
            assert [ends[tp] for tp in self.expected] == self.written

    def trim(self) -> None:
        index = self.chance.randrange(PARTITIONS)
        self.scene.sandbox.delete_records("t", index, self.chance.randint(0, self.written[index]))

    def settle(self) -> None:
        """Heal everything; from then on every partition reaches its end."""
        self.heal()
        self.consumer.resume(self.expected)
        deadline_ms = self.scene.hub.now_ms + 60_000
        while any(
            self.expected[tp] < self.written[tp.partition] for tp in self.expected if self.log[tp.partition].batches
        ):
            assert self.scene.hub.now_ms < deadline_ms, (self.expected, self.written, self.consumer.waiting_for())
            self.check(self.consumer.poll(timeout=1))


@pytest.mark.parametrize("seed", range(25))
def test_nothing_is_skipped_repeated_or_late(seed: int) -> None:
    with Hub(seed=seed) as hub:
        scene = Scene(hub, partitions=PARTITIONS)

        def body() -> None:
            run = Run(scene, seed)
            for _ in range(STEPS):
                run.step()
            run.settle()
            run.consumer.close()
            hub.sleep_ms(10)

        try:
            scene.run(body)
        except KafkaError as error:
            pytest.fail(f"seed {seed}: {error!r}")
        assert scene.network.open_connections == 0
