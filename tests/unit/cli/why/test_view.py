"""How `kctl why` prints what was not checked."""

import pytest

from kctl.cli.why.view import _lines, _summary, _unchecked_lines
from kctl.why import Diagnosis, Evidence, Finding, Looks
from kctl.why.diagnosis import Unchecked
from kctl.why.finding import Severity
from kctl.why.look import Gap, Look


def lines(*unchecked: Unchecked) -> list[str]:
    return list(_unchecked_lines(Diagnosis((), (), unchecked, ())))


def gap(request: str, reason: str, *ids: str) -> Unchecked:
    return Unchecked(Gap(request, "the cluster", None, reason), ids)


def test_finding_that_several_reasons_keep_from_being_checked_is_named_once() -> None:
    assert lines(
        gap("Metadata", "slow", "no-leader", "lost-data"),
        gap("ListGroups", "late", "lost-data", "group-stuck"),
        gap("OffsetFetch", "away", "lost-data"),
    ) == [
        "not checked everywhere: no-leader, lost-data; Metadata (the cluster): slow",
        "not checked everywhere: group-stuck; ListGroups (the cluster): late",
        "not answered: OffsetFetch (the cluster): away",
    ]


def test_requests_without_an_answer_for_one_reason_share_a_line() -> None:
    assert lines(gap("Metadata", "slow", "no-leader"), gap("ListGroups", "slow", "group-stuck")) == [
        "not checked everywhere: no-leader, group-stuck; Metadata (the cluster), ListGroups (the cluster): slow"
    ]


def test_summary_claims_no_more_than_was_checked() -> None:
    missing = (gap("OffsetFetch", "denied", "lost-data"),)
    assert _summary("group g", Diagnosis((), ("lost-data",), (), ())) == "nothing found about group g"
    assert _summary("group g", Diagnosis((), ("no-leader",), missing, ())) == (
        "nothing found about group g in what could be checked,"
    )
    assert _summary("group g", Diagnosis((), (), missing, ())) == "nothing about group g could be checked"


def finding(name: str, subject: str, severity: Severity = Severity.WARNING) -> Finding:
    evidence = (Evidence("Metadata", "the cluster", {"leader": None}),)
    sentence, fix = f"{subject} is bad", f"kctl fix {subject}"
    return Finding(name, severity, subject, sentence, evidence, "It gets worse.", "kctl x", fix)


def printed(*findings: Finding, width: int = 80) -> list[str]:
    looks = Looks(Look(0, requests=7))
    return list(_lines("the cluster", looks, Diagnosis(findings, (), (), ()), width))


def test_findings_of_one_kind_are_printed_once_in_full_and_listed_at_the_end() -> None:
    groups = [finding("group-stuck", f"group g{n}") for n in range(9)]
    assert printed(finding("no-leader", "topic t", Severity.ERROR), *groups) == [
        "ERROR no-leader: topic t",
        "  topic t is bad",
        "  impact:   It gets worse.",
        "  evidence: Metadata, the cluster: leader=none",
        "  show:     kctl x",
        "  fix:      kctl fix topic t",
        "",
        "WARNING group-stuck: group g0",
        "  group g0 is bad",
        "  impact:   It gets worse.",
        "  evidence: Metadata, the cluster: leader=none",
        "  show:     kctl x",
        "  fix:      kctl fix group g0",
        *(f"  also:     group g{n}: group g{n} is bad" for n in range(1, 6)),
        "  also:     3 more; --output json lists all",
        "",
        "10 findings about the cluster by 7 requests",
        "  ERROR    no-leader    topic t",
        "  WARNING  group-stuck  group g0, group g1, group g2 and 6 more",
    ]


@pytest.mark.parametrize("width", [40, 80])
def test_list_of_many_kinds_fits_and_is_short(width: int) -> None:
    lines = printed(*(finding(f"id-{n}", "group " + "long-" * 30) for n in range(13)), width=width)
    assert max(map(len, lines[-12:])) <= width
    assert lines[-1] == "  and 3 more kinds"
    assert sum(line.startswith("  WARNING  id-") for line in lines) == 10
