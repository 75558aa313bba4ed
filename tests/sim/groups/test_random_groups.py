"""Seeded schedules of members, faults, moves and stalls: one owner for each partition, no record missed, no call late.

Members poll, commit by hand after some polls, stall, crash and come back. The journal refuses a second owner; within an
assignment no record is skipped or repeated; every poll, commit and close ends by its deadline. At the end everything
heals and every record must have been read.
"""

from random import Random

import pytest

from kctl.client.cluster import TopicPartition
from kctl.client.consumer.consumer import Consumer, ConsumerRecord
from kctl.client.errors import ApiTimeout, CommitFailedError
from kctl.sandbox import Fault
from kctl.sandbox.sim import Hub
from tests.sim.groups.scene import GROUP, GroupScene

PARTITIONS = 5
FAULTS = [fault for fault in Fault if fault is not Fault.DELAY]
CHAOS_MS = 90_000
END_MS = 180_000


class Actor:
    """One member after the other under one name; ends with the last one closed."""

    def __init__(self, run: "Run", name: str) -> None:
        self.run = run
        self.scene = run.scene
        self.name = name
        self.chance = Random(f"{run.seed} {name}")
        self.lives = 0

    def __call__(self) -> None:
        while self.scene.hub.now_ms < END_MS:
            self.lives += 1
            self.live(f"{self.name}{self.lives}")

    def live(self, name: str) -> None:
        is_auto = self.chance.random() < 0.5
        consumer = self.scene.member(
            name,
            enable_auto_commit=is_auto,
            partition_assignment_strategy=self.run.strategy,
            request_timeout_ms=self.run.request_timeout_ms,
            auto_commit_interval_ms=1000,
            max_poll_records=self.chance.choice([1, 7, 500]),
        )
        is_last = self.chance.random() < 0.5
        end_ms = END_MS if is_last else self.scene.hub.now_ms + self.chance.randint(5000, 40_000)
        following: dict[TopicPartition, int] = {}
        while self.scene.hub.now_ms < min(end_ms, END_MS):
            self.step(name, consumer, following, is_auto=is_auto)
        if not is_last and self.chance.random() < 0.3:
            self.scene.crash(name, consumer)
            self.scene.hub.sleep_ms(self.chance.randint(1, 15_000))
            return
        timeout_ms = self.chance.choice([0, 500, 30_000])
        before_ms = self.scene.hub.now_ms
        consumer.close(timeout_ms / 1000)
        assert self.scene.hub.now_ms - before_ms <= timeout_ms
        self.scene.journal.ended.add(name)
        self.scene.hub.sleep_ms(self.chance.randint(1, 5000))

    def step(self, name: str, consumer: Consumer, following: dict[TopicPartition, int], *, is_auto: bool) -> None:
        timeout_ms = self.chance.choice([0, 5, 50, 300, 1000])
        before_ms = self.scene.hub.now_ms
        changes = len(self.scene.journal.of(name))
        records = consumer.poll(timeout_ms / 1000)
        assert self.scene.hub.now_ms - before_ms <= timeout_ms
        if len(self.scene.journal.of(name)) != changes:
            following.clear()
        self.take(name, consumer, records, following)
        if not is_auto and self.chance.random() < 0.4:
            self.commit(consumer)
        if not timeout_ms:
            self.scene.hub.sleep_ms(self.chance.randint(1, 200))
        if self.chance.random() < 0.01 and self.scene.hub.now_ms < CHAOS_MS:
            self.scene.hub.sleep_ms(self.chance.randint(1000, 25_000))  # also past max.poll.interval.ms

    def take(
        self, name: str, consumer: Consumer, records: list[ConsumerRecord], following: dict[TopicPartition, int]
    ) -> None:
        for record in records:
            tp = TopicPartition(record.topic, record.partition)
            assert tp in consumer.assignment
            assert self.scene.journal.owner.get(tp) == name or not self.scene.journal.is_known(name)
            assert record.offset == following.get(tp, record.offset), "skipped or repeated"
            assert record.value == b"%d" % record.offset
            following[tp] = record.offset + 1
            key = (record.partition, record.offset)
            self.scene.seen[key] = self.scene.seen.get(key, 0) + 1

    def commit(self, consumer: Consumer) -> None:
        timeout_ms = self.chance.choice([50, 500, 2000])
        before_ms = self.scene.hub.now_ms
        try:
            consumer.commit_sync(timeout=timeout_ms / 1000)
        except ApiTimeout:
            assert self.scene.hub.now_ms - before_ms == timeout_ms
        except CommitFailedError:
            pass
        assert self.scene.hub.now_ms - before_ms <= timeout_ms


class Run:
    """One seed: its actors, the writer and the trouble."""

    def __init__(self, scene: GroupScene, seed: int) -> None:
        self.scene = scene
        self.seed = seed
        self.chance = Random(seed)
        self.strategy = self.chance.choice(["range", "roundrobin", "sticky", "cooperative-sticky"])
        self.request_timeout_ms = self.chance.choice([1000, 5000, 30_000])
        self.written = [0] * PARTITIONS

    def write(self) -> None:
        while self.scene.hub.now_ms < CHAOS_MS:
            self.scene.hub.sleep_ms(self.chance.randint(50, 1500))
            index = self.chance.randrange(PARTITIONS)
            count = self.chance.randint(1, 20)
            self.scene.write(index, count, first=self.written[index])
            self.written[index] += count

    def disturb(self) -> None:
        chance = Random(f"{self.seed} trouble")
        while self.scene.hub.now_ms < CHAOS_MS:
            self.scene.hub.sleep_ms(chance.randint(500, 12_000))
            kind = chance.choice(["fault", "fault", "heal", "heal", "coordinator", "leader"])
            if kind == "fault":
                self.scene.sandbox.start_fault(chance.randint(1, 3), chance.choice(FAULTS))
            elif kind == "heal":
                self.scene.sandbox.heal()
            elif kind == "coordinator":
                self.scene.sandbox.move_coordinator(GROUP, chance.randint(1, 3))
            else:
                self.scene.sandbox.move_leader("t", chance.randrange(PARTITIONS), chance.randint(1, 3))
        self.scene.sandbox.heal()


@pytest.mark.parametrize("seed", [*range(16), 134])
def test_one_owner_each_and_nothing_missed(seed: int) -> None:
    with Hub(seed=seed) as hub:
        scene = GroupScene(hub, partitions=PARTITIONS)
        run = Run(scene, seed)
        scene.play(*(Actor(run, name) for name in "abc"), run.write, run.disturb)
        missing = [
            (i, offset) for i in range(PARTITIONS) for offset in range(run.written[i]) if (i, offset) not in scene.seen
        ]
        assert missing == [], (run.strategy, missing[:10], len(missing))
