"""Scene: one topic, one target, the runs of one job that copies the one to the other, and what strikes them."""

from contextlib import AbstractContextManager
from itertools import count
from pathlib import Path
from random import Random
from threading import Event
from typing import NamedTuple

import pytest

from tests.soak_lakes.blows import KINDS, SEED, Blow, Struck, strike
from tests.soak_lakes.lakes import Source, lake
from tests.soak_lakes.supervised import Supervised, feeding
from tests.support.bounds import bound
from tests.support.kafka.cluster import KafkaCluster
from tests.support.s3.server import S3Server

_numbers = count(1)
TIMEOUTS = ("--api-timeout", f"{bound(120)}s", "--request-timeout", f"{bound(10)}s")
"""Longer than a blow lasts, even on a loaded machine, so that no job ends because the machine is slow."""


class Case(NamedTuple):
    """A job to a kind of target in a store: `moto` or `versitygw`."""

    store: str
    job: str
    kind: str

    def __str__(self) -> str:
        return f"{self.job}-{self.kind}-{self.store}-seed-{SEED}"


CASES = [
    Case("moto", job, kind) for job in ("sync", "export") for kind in ("folder", "s3", "gs", "iceberg", "delta")
] + [Case("versitygw", job, kind) for job in ("sync", "export") for kind in ("s3", "iceberg", "delta")]
"""versitygw checks signatures, and the front that speaks Google's API has none."""
IDS = [str(case) for case in CASES]


class Scene:
    """What a test strikes, and what it compares in the end.

    Args: records: produced at once. front: of the store.
    """

    def __init__(
        self,
        case: Case,
        kafka: KafkaCluster,
        stores: tuple[S3Server, Struck],
        records: int,
        scratch: Path,
        request: pytest.FixtureRequest,
    ) -> None:
        store, self._front = stores
        self.source = Source(kafka, records)
        self.target = lake(
            case.kind, f"{case.job}_{case.kind}_{next(_numbers)}", self.source.topic, store, scratch / "out"
        )
        self.case = case
        self.rng = Random(SEED)
        self._pause = Event()
        self._kafka = kafka
        self._scratch = scratch
        self._request = request

    def struck_kinds(self, *kinds: str) -> tuple[str, ...]:
        """Return those of some kinds of blows, all by default, that concern the target."""
        return tuple(each for each in kinds or KINDS if each != "store" or self.case.kind != "folder")

    def continuing(self, name: str, *more: str) -> Supervised:
        """Return a run that continues with new records; runs of one name share a checkpoint."""
        way = ("--trigger", "300ms") if self.case.job == "sync" else ("--continuous", "--interval", "300ms")
        return self._made(f"continuing-{name}", name, *way, *more)

    def last(self, name: str, *more: str) -> Supervised:
        """Return a run that ends when it has copied what there is."""
        return self._made(f"last-{name}", name, *(("--available-now",) if self.case.job == "sync" else ()), *more)

    def strike(self, blow: Blow, supervised: Supervised) -> None:
        """Strike when the blow is due, and end what lasts."""
        strike(blow, supervised, self._front, self._kafka, self.rng, self._pause)

    def feeding(self) -> AbstractContextManager[None]:
        """Return a context in which records are produced after each commit."""
        return feeding(self.source.produce_more, self.target.newest_commit)

    def wait(self, blow: Blow) -> None:
        """Wait until a blow is due."""
        self._pause.wait(blow.after_ms / 1000)

    def _made(self, scratch: str, name: str, *more: str) -> Supervised:
        state = ("--checkpoint", str(self._scratch / f"state-{name}")) if self.case.job == "sync" else ()
        arguments = (self.case.job, self.source.topic, "--to", self.target.text, "-b", self._kafka.bootstrap())
        made = Supervised(self._scratch / scratch, (*arguments, *TIMEOUTS, *state, *more), self.target.newest_commit)
        self._request.addfinalizer(made.close)
        return made
