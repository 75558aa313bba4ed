"""How far a job or a move is: a line with a bar on a terminal, plain lines at times elsewhere, nothing with --quiet."""

import io

import pytest

from kctl.cli.environment import ClosingNotice, Environment, Secrets
from kctl.cli.view.status import PLAIN_EVERY_MS, ProgressStatus, standing_line
from kctl.cli.view.status_texts import MoveProgress, job_standing, move_standing
from kctl.client.clock import ManualClock
from kctl.pipeline.running import JobProgress
from tests.cli.screen import Screen

HALF = JobProgress("exporting", tasks_done=4, tasks_active=2, tasks=8, records=500, lag=500)


def environment(clock: ManualClock) -> Environment:
    return Environment(
        io.BytesIO(),
        io.BytesIO(),
        io.StringIO(),
        {},
        clock,
        program="kctl pipeline",
        closing_notice=ClosingNotice(),
        secrets=Secrets(),
    )


def line(progress: JobProgress, columns: int) -> str:
    return standing_line(job_standing(progress, 100), columns).plain


def test_the_text_says_what_is_known() -> None:
    def told(progress: JobProgress, per_second: float) -> str:
        return job_standing(progress, per_second).texts[0]

    assert told(JobProgress("planning"), 0) == "planning"
    assert told(HALF, 99.6) == "exporting: 4 of 8 tasks, 2 running, 500 records, 100/s, lag 500, about 6s left"
    assert told(HALF, 0.5).endswith(", 0.5/s, lag 500, about 17m left")
    assert told(HALF._replace(tasks_active=0), 0) == "exporting: 4 of 8 tasks, 500 records, 0/s, lag 500"
    assert told(HALF._replace(lost_tasks=1), 0).endswith("lag 500, 1 restarted")
    assert told(JobProgress("waiting", records=5, lag=0), 0) == "waiting: 5 records, 0/s, lag 0"
    assert job_standing(JobProgress("starting Spark"), 0, 999).texts[0] == "starting Spark"
    assert job_standing(JobProgress("starting Spark"), 0, 61_900).texts == ["starting Spark, 1m1s"]
    assert "1m1s" not in job_standing(HALF, 0, 61_900).texts[0]


@pytest.mark.parametrize(
    ("columns", "text"),
    [
        (
            120,
            "[##########----------] 50% exporting: 4 of 8 tasks, 2 running, 500 records, 100/s, lag 500, about 5s left",
        ),
        (90, "[########--------] 50% exporting: 4 of 8 tasks, 500 records, 100/s, lag 500, about 5s left"),
        (79, "[#########----------] 50% exporting: 500 records, 100/s, lag 500, about 5s left"),
        (60, "[##########----------] 50% 100/s, lag 500, about 5s left"),
        (39, "[#########---------] 50% 100/s, lag 500"),
        (20, " 50% 100/s, lag 500"),
    ],
)
def test_where_there_is_less_room_less_is_told_and_records_per_second_and_lag_last(columns: int, text: str) -> None:
    shown = line(HALF, columns)
    assert len(shown) <= columns
    assert shown == text


@pytest.mark.parametrize("columns", [20, 39, 79])
@pytest.mark.parametrize(
    "progress", [HALF._replace(lag=None), JobProgress("starting Spark"), JobProgress("waiting", lag=0)]
)
def test_no_bar_where_the_end_is_not_known(progress: JobProgress, columns: int) -> None:
    shown = line(progress, columns)
    assert len(shown) <= columns
    assert shown in job_standing(progress, 100).texts


def test_plain_lines_when_something_begins_and_then_now_and_then() -> None:
    clock = ManualClock()
    to = environment(clock)
    status = ProgressStatus(to, wanted=True)
    status.on_job(JobProgress("planning"))
    status.on_job(HALF)
    for second in range(1, PLAIN_EVERY_MS // 1000 + 1):
        clock.advance(1000)
        status.on_job(HALF._replace(records=500 + 40 * second, lag=500 - 40 * second))
    status.close()
    assert isinstance(to.stderr, io.StringIO)
    assert [line.partition(", lag")[0] for line in to.stderr.getvalue().splitlines()] == [
        "kctl pipeline: planning",
        "kctl pipeline: exporting: 4 of 8 tasks, 2 running, 500 records, 0/s",
        "kctl pipeline: exporting: 4 of 8 tasks, 2 running, 900 records, 90/s",
    ]


def test_nothing_is_said_where_nothing_is_wanted() -> None:
    to = environment(ManualClock())
    status = ProgressStatus(to, wanted=False)
    status.on_job(HALF)
    status.close()
    assert isinstance(to.stderr, io.StringIO)
    assert to.stderr.getvalue() == ""


def test_line_has_partitions_bytes_and_time_left_and_shrinks() -> None:
    texts = move_standing(MoveProgress(3, 10, 1_200_000_000, 4_000_000_000, 725_000)).texts
    assert texts == [
        "3 of 10 partitions moved, 1.2 GB of 4.0 GB copied, about 13m left",
        "3 of 10 partitions moved, about 13m left",
        "3/10",
    ]


def test_line_without_sizes_or_rate_says_less() -> None:
    assert move_standing(MoveProgress(0, 1, 0, 0, None)).texts[0] == "0 of 1 partitions moved"
    assert move_standing(MoveProgress(0, 1, 0, 0, 1)).texts[0] == "0 of 1 partitions moved, about 1s left"


def test_line_comes_back_below_a_notice() -> None:
    clock = ManualClock()
    shared = environment(clock)._replace(stderr_is_tty=True, environ={"TERM": "xterm", "NO_COLOR": "1"})
    status = ProgressStatus(shared, wanted=True)
    status.say("before")
    status.on_job(JobProgress("planning"))
    status.say("kctl pipeline: waiting")
    assert isinstance(shared.stderr, io.StringIO)
    assert Screen().show(shared.stderr.getvalue()) == ["before", "kctl pipeline: waiting", "planning"]
    status.close()
    assert Screen().show(shared.stderr.getvalue()) == ["before", "kctl pipeline: waiting"]
