"""`sync` and `export --continuous` have each record once while drivers, workers, the store and the broker are struck.

While a job runs, records are produced, and blows of a seeded plan come one at a time: SIGKILL of the driver, of one of
Spark's Python workers, of the front of the S3 server; SIGSTOP of the broker. A job that has ended is started again, as
a supervisor does. In the end a run that ends by itself copies the rest, and what a foreign reader finds, pyarrow on the
plain files or the table format's own library, is compared with what a consumer reads, record by record.
`make soak-lakes` runs it, no tier of CI does; KCTL_SOAK_SEED and KCTL_SOAK_BLOWS choose the plan.
"""

import os
import sys
from collections import Counter
from contextlib import nullcontext
from pathlib import Path
from random import Random
from threading import Event
from typing import NamedTuple

import pytest

from tests.soak_lakes.lakes import Source, lake
from tests.soak_lakes.supervised import Supervised, feeding
from tests.support.kafka.cluster import KafkaCluster
from tests.support.s3.front import StoreFront
from tests.support.s3.server import S3Server

BLOWS = int(os.environ.get("KCTL_SOAK_BLOWS", "20"))
SEED = int(os.environ.get("KCTL_SOAK_SEED", "1"))
RECORDS = 3_000
"""Produced before each blow."""
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


JOBS = [("sync", "folder"), ("sync", "s3"), ("sync", "iceberg"), ("sync", "delta")]
JOBS += [("export", "s3"), ("export", "iceberg"), ("export", "delta")]


@pytest.mark.parametrize(("job", "kind"), JOBS, ids=[f"{job}-{kind}-seed-{SEED}" for job, kind in JOBS])
def test_target_has_every_record_once_after_all_blows(
    kafka_newest: KafkaCluster,
    store: S3Server,
    front: StoreFront,
    job: str,
    kind: str,
    tmp_path: Path,
    request: pytest.FixtureRequest,
) -> None:
    source = Source(kafka_newest, RECORDS)
    rng, pause = Random(SEED), Event()
    target = lake(kind, f"{job}-{kind}".replace("-", "_"), source.topic, store, front, tmp_path / "out")
    arguments = [job, source.topic, "--to", target.text, "-b", kafka_newest.bootstrap(), "--api-timeout", "20s"]
    arguments += ["--request-timeout", "5s", "--master", "local[2]", "--range-size", "50000B"]
    state = ["--checkpoint", str(tmp_path / "state")] if job == "sync" else []
    continuing = ["--trigger", "300ms"] if job == "sync" else ["--continuous", "--interval", "300ms"]
    supervised = Supervised(tmp_path / "jobs", (*arguments, *state, *continuing), target.commits)
    request.addfinalizer(supervised.close)
    kinds = KINDS if kind != "folder" else tuple(each for each in KINDS if each != "store")
    struck = Counter[str]()
    for blow in make_plan(SEED, BLOWS, kinds):
        source.produce_more()
        supervised.running()
        if not blow.is_early:
            supervised.wait_for_commit()
        pause.wait(blow.after_ms / 1000)
        # without work there are no workers
        with feeding(source.produce_more) if blow.kind == "worker" else nullcontext():
            strike(blow, supervised, front, kafka_newest, rng, pause)
        struck[blow.kind] += 1
    supervised.stop()
    last = Supervised(
        tmp_path / "last", (*arguments, *state, *(["--available-now"] if job == "sync" else [])), lambda: 0
    )
    request.addfinalizer(last.close)
    last.finish()
    source.assert_copied_once(target.rows())
    sys.stdout.write(
        f"{job} to {kind}: {dict(struck)}; {supervised.starts} starts, exit codes {dict(supervised.codes)}, "
        f"last {dict(last.codes)}; {source.produced} records, each once; "
        f"{supervised.unexpected + last.unexpected}\n"
    )


def strike(
    blow: Blow, supervised: Supervised, front: StoreFront, kafka: KafkaCluster, rng: Random, pause: Event
) -> None:
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
