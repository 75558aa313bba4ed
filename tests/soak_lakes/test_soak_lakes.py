"""`sync` and `export --continuous` have each record once while drivers, workers, the store and the broker are struck.

While a job runs, records are produced, and blows of a seeded plan come one at a time: SIGKILL of the driver, of one of
Spark's Python workers, of the front of the S3 server; SIGSTOP of the broker. A job that has ended is started again, as
a supervisor does. In the end a run that ends by itself copies the rest, and what a foreign reader finds, pyarrow on the
plain files or the table format's own library, is compared with what a consumer reads, record by record.
`make soak-lakes` runs it, no tier of CI does; KCTL_SOAK_SEED and KCTL_SOAK_BLOWS choose the plan.
"""

import sys
from collections import Counter
from contextlib import nullcontext
from pathlib import Path
from random import Random
from threading import Event

import pytest

from tests.soak_lakes.blows import BLOWS, KINDS, SEED, make_plan, strike
from tests.soak_lakes.lakes import Source, lake
from tests.soak_lakes.supervised import Supervised, feeding
from tests.support.kafka.cluster import KafkaCluster
from tests.support.s3.front import StoreFront
from tests.support.s3.server import S3Server

RECORDS = 3_000
"""Produced before each blow."""
JOBS = [("sync", "folder"), ("sync", "s3"), ("sync", "gs"), ("sync", "iceberg"), ("sync", "delta")]
JOBS += [("export", "s3"), ("export", "gs"), ("export", "iceberg"), ("export", "delta")]


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
