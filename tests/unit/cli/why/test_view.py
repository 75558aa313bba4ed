"""How `kctl why` prints what was not checked."""

from kctl.cli.why.view import _summary, _unchecked_lines
from kctl.why import Diagnosis
from kctl.why.diagnosis import Unchecked
from kctl.why.look import Gap


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
