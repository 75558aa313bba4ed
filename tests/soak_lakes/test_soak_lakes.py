"""`sync` and `export --continuous` have each record once while drivers, workers, the store and the broker are struck.

While a job runs, records are produced, and blows of a seeded plan come one at a time: SIGKILL of the driver, of one of
Spark's Python workers, of versitygw or of the front of moto; SIGSTOP of the broker. A job that has ended is started
again, as a supervisor does. In the end a run that ends by itself copies the rest, and what a foreign reader finds,
pyarrow on the plain files or the table format's own library, is compared with what a consumer reads, record by record.
`make soak-lakes` runs it, no tier of CI does; KCTL_SOAK_SEED and KCTL_SOAK_BLOWS choose the plan.
"""

import sys
from collections import Counter
from contextlib import nullcontext

import pytest

from tests.soak_lakes.blows import BLOWS, SEED, make_plan
from tests.soak_lakes.scene import CASES, IDS, Scene

RECORDS = 3_000
"""Produced before each blow."""
OPTIONS = ("--master", "local[2]", "--range-size", "50000B")


@pytest.mark.parametrize(("stores", "case"), [(case.store, case) for case in CASES], indirect=["stores"], ids=IDS)
def test_target_has_every_record_once_after_all_blows(scene: Scene) -> None:
    supervised = scene.continuing("one", *OPTIONS)
    struck = Counter[str]()
    for blow in make_plan(SEED, BLOWS, scene.struck_kinds()):
        before = scene.target.newest_commit()
        scene.source.produce_more()
        supervised.running()
        if not blow.is_early:
            supervised.wait_for_commit_after(before)
        scene.wait(blow)
        # without work there are no workers
        with scene.feeding() if blow.kind == "worker" else nullcontext():
            scene.strike(blow, supervised)
        struck[blow.kind] += 1
    supervised.stop()
    last = scene.last("one", *OPTIONS)
    last.finish()
    scene.source.assert_copied_once(scene.target.rows())
    sys.stdout.write(
        f"{scene.case}: {dict(struck)}; {supervised.starts} starts, exit codes {dict(supervised.codes)}, "
        f"last {dict(last.codes)}; {scene.source.produced} records, each once; "
        f"{supervised.unexpected + last.unexpected}\n"
    )
