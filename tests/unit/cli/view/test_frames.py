"""The lines of `consume`, `produce` and `pipeline`, and the page of `doctor`, compared with stored frames.

After a wanted change: `KCTL_STORE_FRAMES=1 python -m pytest tests/unit/cli/view`, then read the difference.
"""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from rich.text import Text

from kctl.cli.view.painter import text_of
from kctl.cli.view.status import reading_line, standing_line
from kctl.cli.view.status_texts import ReadFigures, SendFigures, job_standing, send_standing
from kctl.cli.why.view import _lines
from kctl.pipeline.running import JobProgress
from kctl.why import Diagnosis, Evidence, Finding, Looks
from kctl.why.diagnosis import Unchecked
from kctl.why.finding import Severity
from kctl.why.look import Gap, Look

FRAMES = Path(__file__).parent / "frames"
WIDTHS = [40, 80, 200]
FAULT = "orders-1: cannot find the leader of orders-1: there is no leader (LEADER_NOT_AVAILABLE)"


def status_lines(columns: int) -> Iterator[Text]:
    """Yield the lines of commands in their typical states; the last column stays free."""
    room = columns - 1
    yield reading_line(ReadFigures(1_234_567, 56_400.0, 7, 3))
    yield reading_line(ReadFigures(1_234, 0.0, 0, 3, waiting="at the end of all partitions"))
    yield reading_line(ReadFigures(1_234, 56.4, 7, 3, waiting=FAULT, is_fault=True))
    yield standing_line(send_standing(SendFigures(1_000_000, 512, 50_000_000, 200_000_000), 2e5, 1e7), room)
    yield standing_line(send_standing(SendFigures(1_000_000, 0, 50_000_000), 2e5, 1e7), room)
    yield standing_line(job_standing(JobProgress("starting Spark"), 0, 12_000), room)
    yield standing_line(
        job_standing(JobProgress("exporting", 312, 16, 1000, records=6_240_000, lag=13_760_000), 3.1e6), room
    )
    yield standing_line(job_standing(JobProgress("waiting", records=20_000_000, lag=0), 0), room)


def finding(name: str, subject: str, severity: Severity, sentence: str, fix: str) -> Finding:
    """Return a finding of one request."""
    evidence = (Evidence("Metadata", subject, {"leader": None, "replicas": "1, 2, 3"}),)
    return Finding(name, severity, subject, sentence, evidence, "Clients wait.", f"kctl why {subject}", fix)


def doctor_lines(columns: int) -> Iterator[str]:
    """Yield the page of three kinds of findings, with four groups of one kind."""
    found = [
        finding("no-leader", "topic orders", Severity.ERROR, "orders-1 has no leader.", "start broker 2 or 3"),
        *(
            finding(
                "group-stuck",
                f"group billing-{number}",
                Severity.WARNING,
                f"billing-{number} has committed nothing for 10m, and 70,000 records are unread.",
                f"restart the members of billing-{number}",
            )
            for number in range(4)
        ),
        finding("version-skew", "cluster", Severity.NOTE, "Brokers have different API versions.", "upgrade broker 3"),
    ]
    looks = Looks(Look(0, requests=107))
    yield from _lines("the cluster", looks, Diagnosis(tuple(found), ("no-leader",), (), ("group-stuck",)), columns)


def why_lines(columns: int) -> Iterator[str]:
    """Yield the page of a finding with an incomplete check, and the page of a group without problems."""
    found = finding(
        "group-no-members",
        "group billing",
        Severity.WARNING,
        "billing has no active members, but 70,000 unread records (68,000 on orders-1, 2,000 on orders-0)",
        "start the consumers of billing",
    )
    reason = "no response from broker 3 (kafka-3.example:9092) within 5s (--request-timeout)"
    gap = Unchecked(Gap("DescribeProducers", "orders-2", None, reason), ("transaction-hanging",))
    looks = Looks(Look(0, requests=23))
    incomplete = Diagnosis((found,), ("group-no-members",), (gap,), ("falling-behind", "group-stuck"))
    yield from _lines("group billing", looks, incomplete, columns)
    yield ""
    yield from _lines("group billing", looks, Diagnosis((), ("no-leader", "lost-data"), (), ()), columns)


VIEWS: dict[str, Callable[[int], Iterator[str]]] = {
    "status": lambda columns: (line.plain for line in status_lines(columns)),
    "doctor": doctor_lines,
    "why": why_lines,
}


@pytest.mark.parametrize("columns", WIDTHS)
@pytest.mark.parametrize("name", VIEWS)
def test_frames(name: str, columns: int) -> None:
    lines = list(VIEWS[name](columns))
    text = "".join(f"{line[:columns].rstrip()}\n" for line in lines)
    stored = FRAMES / f"{name}_{columns}.txt"
    if os.environ.get("KCTL_STORE_FRAMES"):
        stored.parent.mkdir(exist_ok=True)
        stored.write_text(text)
    assert text == stored.read_text()


@pytest.mark.parametrize("columns", WIDTHS)
@pytest.mark.parametrize("name", ["doctor", "why"])
def test_page_of_findings_fits_except_for_commands(name: str, columns: int) -> None:
    cut = [line for line in VIEWS[name](columns) if len(line) > columns and " kctl " not in line]
    assert cut == []


def test_lines_have_styles_that_are_legible_on_light_and_dark_terminals() -> None:
    styles = {str(span.style) for line in status_lines(80) for span in line.spans}
    assert styles == {"dim", "yellow"}
    assert text_of(("text", "white")).spans, "styles of a line are found"
