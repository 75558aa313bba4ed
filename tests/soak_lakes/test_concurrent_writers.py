"""Two runs at once on one target, while records are produced: one wins each time, the other is named, each record once.

Both are started again whenever they lose, as supervisors do; once by themselves, once while drivers, workers and the
store are struck. `make soak-lakes` runs it; KCTL_SOAK_LOSSES chooses how often one has to lose, KCTL_SOAK_SEED and
KCTL_SOAK_BLOWS the blows.
"""

import os
import sys
from collections import Counter

import pytest

from tests.soak_lakes.blows import BLOWS, SEED, make_plan
from tests.soak_lakes.scene import CASES, IDS, Scene
from tests.soak_lakes.supervised import Supervised
from tests.support.bounds import bound
from tests.support.kafka.waiting import wait_until

LOSSES = int(os.environ.get("KCTL_SOAK_LOSSES", "4"))
RECORDS = 500
WITHIN_MS = bound(1_800_000)
LOST = ("another export started in", "another export wrote to")
"""Texts of a run to a folder, and of a run to a store or a table."""
OVERLOADED = "the machine is overloaded"
"""Text of a run that has lost nothing: Spark waits 10 s for a Python worker, which is too short on a loaded machine."""
ONE_CORE = ("--master", "local[1]")
SMALL = (*ONE_CORE, "--range-size", "20000B")
each_case = pytest.mark.parametrize(
    ("stores", "case"), [(case.store, case) for case in CASES], indirect=["stores"], ids=IDS
)


def finish(scene: Scene, runs: list[Supervised]) -> None:
    """End both, and let one copy the rest."""
    for each in runs:
        each.kill()  # one that is just starting could not be interrupted
    scene.last("one", *ONE_CORE).finish()
    scene.source.assert_copied_once(scene.target.rows())


@each_case
def test_of_two_runs_at_once_one_commits_and_each_record_is_there_once(scene: Scene) -> None:
    runs = [scene.continuing(name, *SMALL) for name in ("one", "two")]
    losses = Counter[str]()

    def have_lost() -> bool:
        for number, each in enumerate(runs):
            if (ended := each.ended_with()) is not None:
                code, said = ended
                if OVERLOADED not in said:
                    assert code == 2, said
                    assert any(words in said for words in LOST), said
                    losses[f"run {number + 1}"] += 1
            each.running()
        return losses.total() >= LOSSES

    scene.source.produce_more()
    with scene.feeding():
        wait_until(have_lost, WITHIN_MS, "the losses", interval_ms=100)
    finish(scene, runs)
    sys.stdout.write(f"two of {scene.case}: {dict(losses)} lost, {scene.source.produced} records, each once\n")


@each_case
def test_of_two_runs_at_once_that_are_struck_each_record_is_there_once(scene: Scene) -> None:
    """Both run when a blow falls, on one of them or on the store that they share."""
    runs = [scene.continuing(name, *SMALL) for name in ("one", "two")]
    struck = Counter[str]()

    def both_run_and_one_commits() -> None:
        before = scene.target.newest_commit()

        def has_committed() -> bool:
            for each in runs:
                each.running()
            return scene.target.newest_commit() > before

        wait_until(has_committed, WITHIN_MS, "a commit of one of them", interval_ms=100)

    scene.source.produce_more()
    with scene.feeding():
        for blow in make_plan(SEED, BLOWS, scene.struck_kinds("driver", "worker", "store")):
            if not blow.is_early:
                both_run_and_one_commits()
            scene.wait(blow)
            scene.strike(blow, scene.rng.choice(runs))
            struck[blow.kind] += 1
    finish(scene, runs)
    sys.stdout.write(
        f"two of {scene.case} under {dict(struck)}: exit codes {[dict(each.codes) for each in runs]}, "
        f"{scene.source.produced} records, each once; {[each.unexpected for each in runs]}\n"
    )
