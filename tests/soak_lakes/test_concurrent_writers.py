"""Two runs at once on one target, while records are produced: one wins each time, the other is named, each record once.

Both are started again whenever they lose, as supervisors do. `make soak-lakes` runs it; KCTL_SOAK_LOSSES chooses how
often one has to lose.
"""

import os
import sys
from collections import Counter
from pathlib import Path

import pytest

from tests.soak_lakes.lakes import Source, lake
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
    arguments = (job, source.topic, "--to", target.text, "-b", kafka_newest.bootstrap(), "--master", "local[1]")
    small = ("--range-size", "20000B")
    continuing = (*small, "--trigger", "300ms") if job == "sync" else (*small, "--continuous", "--interval", "300ms")

    def run(name: str, *more: str) -> Supervised:
        state = ("--checkpoint", str(tmp_path / f"state-{name}")) if job == "sync" else ()
        made = Supervised(tmp_path / name, (*arguments, *state, *more), target.commits)
        request.addfinalizer(made.close)
        return made

    runs = [run("one", *continuing), run("two", *continuing)]
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
    last = run("one", *(["--available-now"] if job == "sync" else []))
    last.finish()
    source.assert_copied_once(target.rows())
    sys.stdout.write(f"two {job}s to {kind}: {dict(losses)} lost, {source.produced} records, each once\n")
