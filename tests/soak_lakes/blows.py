"""Blows: what a soak strikes, when, and for how long, by a seed; KCTL_SOAK_SEED and KCTL_SOAK_BLOWS choose."""

import os
from random import Random
from threading import Event
from typing import NamedTuple, Protocol

from tests.soak_lakes.supervised import Supervised
from tests.support.kafka.cluster import KafkaCluster

BLOWS = int(os.environ.get("KCTL_SOAK_BLOWS", "20"))
SEED = int(os.environ.get("KCTL_SOAK_SEED", "1"))
KINDS = ("driver", "worker", "store", "broker")


class Blow(NamedTuple):
    """What is struck, how long after the last commit that was seen, and how long it stays away."""

    kind: str
    after_ms: int
    lasts_ms: int
    is_early: bool
    """Without waiting for a commit, such as while Spark starts."""


def make_plan(seed: int, count: int, kinds: tuple[str, ...]) -> list[Blow]:
    """Return the blows of a seed; every kind comes once before one comes again."""
    rng = Random(seed)
    plan: list[Blow] = []
    while len(plan) < count:
        plan += [
            Blow(kind, rng.randint(0, 1500), rng.randint(200, 5000), rng.random() < 0.2)
            for kind in rng.sample(kinds, len(kinds))
        ]
    return plan[:count]


class Struck(Protocol):
    """A server that can be killed and started again, and keeps what it holds."""

    def start(self) -> None: ...

    def kill(self) -> None: ...


def strike(blow: Blow, supervised: Supervised, front: Struck, kafka: KafkaCluster, rng: Random, pause: Event) -> None:
    """Strike, and end what lasts."""
    if blow.kind == "driver":
        supervised.kill()
    elif blow.kind == "worker":
        supervised.wait(lambda: supervised.kill_worker(rng), "a worker")
    elif blow.kind == "store":
        front.kill()
        pause.wait(blow.lasts_ms / 1000)
        front.start()
    else:
        kafka.node(1).freeze()
        pause.wait(blow.lasts_ms / 1000)
        kafka.node(1).thaw()
