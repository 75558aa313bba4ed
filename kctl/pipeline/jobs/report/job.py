"""`report` as a function: finds the files, reads them here or in Spark tasks, and sums up.

Small inputs are read in this process: Spark takes longer to start than they to read. Shown by
tests/pipeline/test_report_command.py.
"""

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from kctl.client.clock import Clock, SystemClock
from kctl.pipeline.jobs.report.files import TASK_BYTES, SourceFile, find_files, group_files
from kctl.pipeline.jobs.report.findings import CERT_WARN_MS
from kctl.pipeline.jobs.report.fleet import Fleet
from kctl.pipeline.jobs.report.folding import fold_file
from kctl.pipeline.jobs.report.limits import Wanted
from kctl.pipeline.jobs.report.result import FleetReport
from kctl.pipeline.jobs.report.summary import summarise
from kctl.pipeline.running import Attempt, OnProgress, Progress, ignore_progress, open_session, run_tasks
from kctl.pipeline.session import Session, SessionOptions

SPARK_FROM_BYTES = 256 * 1024 * 1024
"""One process reads about 40 MB/s; a local Spark needs some seconds until it reads at all."""
SPARK_TASKS = 32
"""At least so many where there are files enough, so that all cores have something to read."""
_TELL_EVERY_LINES = 2000


class ReportPlan(NamedTuple):
    """What a report would read.

    Attributes: groups: the files of each task; uses_spark: otherwise one process reads all.
    """

    groups: list[list[SourceFile]]
    uses_spark: bool

    @property
    def files(self) -> list[SourceFile]:
        return [file for group in self.groups for file in group]

    @property
    def size_bytes(self) -> int:
        return sum(file.size_bytes for file in self.files)


def plan_report(
    paths: Sequence[Path], *, place: re.Pattern[str] | None = None, spark: bool | None = None
) -> ReportPlan:
    """Return what is to be read, and how.

    Args: place: as `find_files` takes it; spark: whether to use Spark, None where the size is to decide.
    Raises: ConfigError: nothing is there.
    """
    files = find_files(paths, place)
    size_bytes = sum(file.size_bytes for file in files)
    uses_spark = size_bytes >= SPARK_FROM_BYTES and len(files) > 1 if spark is None else spark
    task_bytes = max(1, min(TASK_BYTES, size_bytes // SPARK_TASKS))
    return ReportPlan(group_files(files, task_bytes) if uses_spark else [files], uses_spark)


def run_report(
    plan: ReportPlan,
    *,
    wanted: Wanted | None = None,
    cert_warn_ms: int = CERT_WARN_MS,
    options: SessionOptions | None = None,
    session: Session | None = None,
    clock: Clock | None = None,
    on_progress: OnProgress = ignore_progress,
) -> FleetReport:
    """Return the report of what was planned.

    Args:
        wanted: what limits are to achieve.
        cert_warn_ms: how long before its end a certificate is a finding.
        options: of the Spark to start, where one is used; session: one that runs already.
    Raises: SparkMissingError, SparkSetUpError, SparkFailedError, where Spark is used.
    """
    if not plan.uses_spark:
        fleet = _read_here(plan, on_progress)
    elif session is not None:
        fleet = _read_in_tasks(session, plan, on_progress)
    else:
        with open_session(options or SessionOptions(), "kctl pipeline report", on_progress) as own:
            fleet = _read_in_tasks(own, plan, on_progress)
    now_ms = (clock or SystemClock()).wall_ms()
    return summarise(fleet, now_ms=now_ms, wanted=wanted, cert_warn_ms=cert_warn_ms)


def _read_here(plan: ReportPlan, on_progress: OnProgress) -> Fleet:
    fleet = Fleet()
    files = plan.files
    for position, file in enumerate(files):
        fold_file(file.path, file.place, fleet, _teller(fleet, position, len(files), on_progress))
        on_progress(Progress("reading", position + 1, 0, len(files), 0, fleet.lines))
    return fleet


def _teller(fleet: Fleet, done: int, files: int, on_progress: OnProgress) -> Callable[[], None]:
    def tell() -> None:
        if fleet.lines % _TELL_EVERY_LINES == 0:
            on_progress(Progress("reading", done, 1, files, 0, fleet.lines))

    return tell


def _read_in_tasks(session: Session, plan: ReportPlan, on_progress: OnProgress) -> Fleet:
    fleet, done = Fleet(), 0

    def take(_position: int, part: Fleet) -> None:
        nonlocal done
        fleet.add(part)
        done += 1
        on_progress(Progress("reading", done, 0, len(plan.groups), 0, fleet.lines))

    found = run_tasks(session, "kctl: read files", plan.groups, read_group, on_done=take)
    found.raise_first()
    return fleet


def read_group(files: list[SourceFile], _attempt: Attempt) -> Fleet:
    """Read the files of one task."""
    fleet = Fleet()
    for file in files:
        fold_file(file.path, file.place, fleet)
    return fleet
