"""How `kctl why` prints what was not checked."""

from kctl.cli.why.run import exit_code
from kctl.cli.why.view import _lines, _summary, _unchecked_lines
from kctl.client.errors import AuthorizationError
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
        "not fully checked: no-leader, lost-data. No result: Metadata (the cluster): slow",
        "not fully checked: group-stuck. No result: ListGroups (the cluster): late",
        "no result: OffsetFetch (the cluster): away",
    ]


def test_requests_without_an_answer_for_one_reason_share_a_line() -> None:
    assert lines(gap("Metadata", "slow", "no-leader"), gap("ListGroups", "slow", "group-stuck")) == [
        "not fully checked: no-leader, group-stuck. No result: Metadata (the cluster), ListGroups (the cluster): slow"
    ]


def test_missing_permission_replaces_the_error_and_a_possibly_missing_one_does_not() -> None:
    error, right = AuthorizationError("denied"), "Describe on its topics"
    refused = Unchecked(Gap("OffsetFetch", "group g", error, "denied", right), ("lost-data",))
    empty = Unchecked(Gap("OffsetFetch", "group h", None, "no committed offsets", right), ("group-stuck",))
    assert lines(refused, empty) == [
        "not fully checked: lost-data. No result: OffsetFetch (group g): permission Describe on its topics is missing",
        "not fully checked: group-stuck. No result: OffsetFetch (group h): no committed offsets",
    ]
    assert exit_code(Diagnosis((), (), (refused, empty), ())) == 0


def test_summary_claims_no_more_than_was_checked() -> None:
    missing = (gap("OffsetFetch", "denied", "lost-data"),)
    assert _summary("group g", Diagnosis((), ("lost-data",), (), ()), 4) == (
        "no problems found in group g (1 check, 4 requests)"
    )
    assert _summary("group g", Diagnosis((), ("no-leader",), missing, ()), 4) == (
        "no problems found in group g, but some checks are incomplete (1 check, 4 requests)"
    )
    assert _summary("group g", Diagnosis((), (), missing, ()), 1) == (
        "cannot check group g: no check received all responses (1 request)"
    )


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
        "  also:     3 more. List all with --output json",
        "",
        "10 findings for the cluster (7 requests)",
        "  ERROR    no-leader    topic t",
        "  WARNING  group-stuck  group g0, group g1, group g2 and 6 more",
    ]


def test_list_of_many_kinds_is_short() -> None:
    lines = printed(*(finding(f"id-{n}", "group g") for n in range(13)))
    assert lines[-1] == "  and 3 more kinds"
    assert sum(line.startswith("  WARNING  id-") for line in lines) == 10


def test_list_on_a_narrow_terminal_wraps_and_keeps_names_whole() -> None:
    findings = [
        finding("preferred-leader-not-leading", "broker 1", Severity.NOTE),
        finding("group-no-members", "group payments-reconciliation-nightly"),
        finding("no-leader", "topic t"),
    ]
    assert printed(*findings, width=40)[-7:] == [
        "  NOTE     preferred-leader-not-leading",
        "    broker 1",
        "  WARNING  group-no-members",
        "    group",
        "    payments-reconciliation-nightly",
        "  WARNING  no-leader",
        "    topic t",
    ]


def test_findings_that_do_not_fit_keep_their_fix_and_are_complete_with_verbose() -> None:
    findings = [finding(f"id-{n}", f"group g{n}", Severity.ERROR if n < 2 else Severity.WARNING) for n in range(13)]
    lines = printed(*findings)
    assert len(lines) <= 60
    assert "13 findings for the cluster (7 requests)" in lines[-15:]
    assert lines[:6] == [
        "ERROR id-0: group g0",
        "  group g0 is bad",
        "  impact:   It gets worse.",
        "  evidence: Metadata, the cluster: leader=none",
        "  show:     kctl x",
        "  fix:      kctl fix group g0",
    ]
    assert all(f"  fix:      kctl fix group g{n}" in lines for n in range(13))
    assert "Add -v to print all findings in full." in lines
    looks, diagnosis = Looks(Look(0, requests=7)), Diagnosis(tuple(findings), ("no-leader",), (), ("group-stuck",))
    full = list(_lines("the cluster", looks, diagnosis, 80, verbose=True))
    assert sum(line.startswith("  evidence:") for line in full) == 13
    assert "checked: no-leader" in full
    assert "skipped 1 check requiring two samples (add --samples 2): group-stuck" in full
    brief = list(_lines("the cluster", looks, Diagnosis((), ("no-leader",), (), ("group-stuck",)), 80))
    assert brief == [
        "skipped 1 check requiring two samples (add --samples 2)",
        "no problems found in the cluster (1 check, 7 requests)",
    ]
