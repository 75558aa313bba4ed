"""Two runs at once on one target, while records are produced: one wins each time, the other is named, each record once.

Both are started again whenever they lose, as supervisors do; once by themselves, once while drivers, workers and the
store are struck. `make soak-lakes` runs it; KCTL_SOAK_LOSSES chooses how often one has to lose, KCTL_SOAK_SEED and
KCTL_SOAK_BLOWS the blows.
"""

import os
import sys
from collections import Counter
from pathlib import Path
from random import Random
from threading import Event

import pytest

from tests.soak_lakes.blows import BLOWS, SEED, make_plan, strike
from tests.soak_lakes.lakes import Lake, Source, lake
from tests.soak_lakes.supervised import Supervised, feeding
from tests.support.kafka.cluster import KafkaCluster
from tests.support.kafka.waiting import wait_until
from tests.support.s3.front import StoreFront
from tests.support.s3.server import S3Server

LOSSES = int(os.environ.get("KCTL_SOAK_LOSSES", "4"))
RECORDS = 500
WITHIN_MS = 600_000
LOST = "another export has"
JOBS = [(job, kind) for job in ("export", "sync") for kind in ("folder", "s3", "iceberg", "delta")]


@pytest.mark.parametrize(("job", "kind"), JOBS, ids=[f"{job}-{kind}" for job, kind in JOBS])
def test_of_two_runs_at_once_one_commits_and_each_record_is_there_once(
    kafka_newest: KafkaCluster,
    store: S3Server,
    front: StoreFront,
    job: str,
    kind: str,
    tmp_path: Path,
    request: pytest.FixtureRequest,
) -> None:
    source = Source(kafka_newest, RECORDS)
    target = lake(kind, f"two_{job}_{kind}", source.topic, store, front, tmp_path / "out")
    start = Runs(job, source, target, kafka_newest, tmp_path, request)
    runs = [start.continuing("one"), start.continuing("two")]
    losses = Counter[str]()

    def have_lost() -> bool:
        for number, each in enumerate(runs):
            if (ended := each.ended_with()) is not None:
                code, said = ended
                assert code == 2, said
                assert LOST in said, said
                losses[f"run {number + 1}"] += 1
            each.running()
        return losses.total() >= LOSSES

    source.produce_more()
    with feeding(source.produce_more):
        wait_until(have_lost, WITHIN_MS, "the losses", interval_ms=100)
    for each in runs:
        each.kill()  # one that is just starting could not be interrupted
    start.last("one").finish()
    source.assert_copied_once(target.rows())
    sys.stdout.write(f"two {job}s to {kind}: {dict(losses)} lost, {source.produced} records, each once\n")


@pytest.mark.parametrize(("job", "kind"), JOBS, ids=[f"{job}-{kind}-seed-{SEED}" for job, kind in JOBS])
def test_of_two_runs_at_once_that_are_struck_each_record_is_there_once(
    kafka_newest: KafkaCluster,
    store: S3Server,
    front: StoreFront,
    job: str,
    kind: str,
    tmp_path: Path,
    request: pytest.FixtureRequest,
) -> None:
    """Both run when a blow falls, on one of them or on the store that they share."""
    source = Source(kafka_newest, RECORDS)
    rng, pause = Random(SEED), Event()
    target = lake(kind, f"struck_{job}_{kind}_{SEED}", source.topic, store, front, tmp_path / "out")
    start = Runs(job, source, target, kafka_newest, tmp_path, request)
    runs = [start.continuing("one"), start.continuing("two")]
    struck = Counter[str]()

    def both_run_and_one_commits() -> None:
        before = target.commits()

        def has_committed() -> bool:
            for each in runs:
                each.running()
            return target.commits() > before

        wait_until(has_committed, WITHIN_MS, "a commit of one of them", interval_ms=100)

    source.produce_more()
    with feeding(source.produce_more):
        for blow in make_plan(SEED, BLOWS, ("driver", "worker") if kind == "folder" else ("driver", "worker", "store")):
            if not blow.is_early:
                both_run_and_one_commits()
            pause.wait(blow.after_ms / 1000)
            strike(blow, rng.choice(runs), front, kafka_newest, rng, pause)
            struck[blow.kind] += 1
    for each in runs:
        each.kill()
    start.last("one").finish()
    source.assert_copied_once(target.rows())
    sys.stdout.write(
        f"two {job}s to {kind} under {dict(struck)}: exit codes {[dict(each.codes) for each in runs]}, "
        f"{source.produced} records, each once; {[each.unexpected for each in runs]}\n"
    )


class Runs:
    """Starts runs of one job on one target."""

    def __init__(
        self,
        job: str,
        source: Source,
        target: Lake,
        kafka: KafkaCluster,
        scratch: Path,
        request: pytest.FixtureRequest,
    ) -> None:
        self._job = job
        self._target = target
        self._scratch = scratch
        self._request = request
        self._arguments = (job, source.topic, "--to", target.text, "-b", kafka.bootstrap(), "--master", "local[1]")

    def continuing(self, name: str) -> Supervised:
        """Return one that continues with new records."""
        small = ("--range-size", "20000B")
        if self._job == "sync":
            return self._made(name, *small, "--trigger", "300ms")
        return self._made(name, *small, "--continuous", "--interval", "300ms")

    def last(self, name: str) -> Supervised:
        """Return one that ends when it has copied what there is."""
        return self._made(name, *(["--available-now"] if self._job == "sync" else []))

    def _made(self, name: str, *more: str) -> Supervised:
        state = ("--checkpoint", str(self._scratch / f"state-{name}")) if self._job == "sync" else ()
        made = Supervised(self._scratch / name, (*self._arguments, *state, *more), self._target.commits)
        self._request.addfinalizer(made.close)
        return made
