"""Each rule refuses a history that breaks it, and leaves one alone that does not."""

from typing import Any

import pytest

from kctl.client.cluster import TopicPartition
from tests.sim.chaos.checker import check
from tests.sim.chaos.history import CLUSTER, Entry
from tests.sim.chaos.plan import MAX_POLL_MS, Fault, Plan

TP = TopicPartition("t", 0)
PROC = "c1.1"
PLAN = Plan(0, "swarm", 1000, (), ())
Line = tuple[int, str, str, str, Any]
"""Instant, proc, kind, what, value."""


def rules_broken(*lines: Line, timeout_ms: int | None = None, error: str = "", plan: Plan = PLAN) -> list[str]:
    entries = [
        Entry(
            number,
            at_ms,
            proc,
            kind,
            what,
            value,
            timeout_ms if what != "assign" else None,
            error if kind == "info" else "",
        )
        for number, (at_ms, proc, kind, what, value) in enumerate(lines)
    ]
    return [violation.rule.split()[0] for violation in check(entries, plan)]


def born(**properties: object) -> Line:
    given = {"group": "g", "member": True, "auto.offset.reset": "earliest", "fetch.max.wait.ms": 500, **properties}
    return (0, PROC, "event", "born", given)


def assigned(*partitions: TopicPartition, **robbed: str) -> Line:
    return (0, PROC, "event", "assigned", {"partitions": list(partitions), "robbed": robbed})


def polled(at_ms: int, *runs: tuple[int, int]) -> list[Line]:
    value = {"runs": [[TP, first, count, 0] for first, count in runs], "wrong": [], "paused": [], "owned": [TP]}
    return [(at_ms, PROC, "invoke", "poll", None), (at_ms, PROC, "ok", "poll", value)]


WRITTEN: Line = (0, CLUSTER, "event", "append", [TP, 0, 100])
START = (born(), WRITTEN, assigned(TP))


def test_correct_history_breaks_no_rule() -> None:
    assert rules_broken(*START, *polled(5, (0, 10)), *polled(6, (10, 5)), timeout_ms=0) == []


@pytest.mark.parametrize(
    ("rule", "lines"),
    [
        ("C1", [*polled(5, (0, 10)), *polled(6, (11, 5))]),
        ("C2", [*polled(5, (0, 10)), *polled(6, (9, 5))]),
        ("C3", polled(5, (0, 10), (12, 5))),
        ("C7", polled(5, (3, 10))),
        ("C4", [(4, PROC, "invoke", "pause", [TP]), (4, PROC, "ok", "pause", None), *polled(5, (0, 1))]),
        ("C6", [*polled(5, (0, 10)), *polled(6), (7, CLUSTER, "event", "commit", ["g", TP, 11, PROC, 0])]),
        ("C6", [*polled(5, (0, 10)), (7, CLUSTER, "event", "commit", ["g", TP, 10, PROC, 0])]),
        ("C9", [*polled(5, (0, 1)), (6, CLUSTER, "event", "trim", [TP, 50]), *polled(7, (60, 1))]),
        ("G1", [(5, PROC, "event", "assigned", {"partitions": [TopicPartition("t", 1)], "robbed": {"t-1": "c2.1"}})]),
        ("G2", [(5, PROC, "event", "revoked", {"partitions": [TopicPartition("t", 1)], "robbed": {}})]),
        ("G3", [(5, PROC, "event", "member", ["m", 5]), (6, PROC, "event", "member", ["m", 4])]),
        ("G5", [(5, CLUSTER, "event", "settled", {"after_ms": 9, "why_not": "nobody has it"})]),
        ("D1", [(5, PROC, "invoke", "poll", None), (6, PROC, "ok", "poll", {"runs": [], "wrong": []})]),
        ("D4", [(5, PROC, "event", "slept", [TP])]),
        ("G6", [(4, PROC, "event", "member", ["m", -1]), *polled(5), (5, PROC, "event", "member", ["m", -1])]),
        ("R1", [(5, CLUSTER, "event", "left", {"connections": 1, "actors": (), "entries": []})]),
        ("R2", [(5, CLUSTER, "event", "left", {"connections": 0, "actors": (), "entries": ["c1.io.2"]})]),
        ("R3", [(5, CLUSTER, "event", "left", {"connections": 0, "actors": ("c1",), "entries": []})]),
        ("R6", [(5, CLUSTER, "event", "exception", {"actor": "c1", "text": "KeyError"})]),
        ("R7", [(5, CLUSTER, "event", "stuck", "100000 steps")]),
        ("R8", [(5, CLUSTER, "event", "dial", ["c1", "10.0.0.1"])] * 31),
        ("R9", [(5, PROC, "event", "protocol-error", "correlation id 5, and 4 was asked")]),
        ("G11", [(5, PROC, "event", "outside", 500)]),
        ("G9", [(5, PROC, "event", "after-session", 3)]),
        ("R13", [(5, CLUSTER, "event", "no-progress", ["c1", 1])] * 31),
        ("R14", [(5, CLUSTER, "event", "join-refused", ["c1", "UNSUPPORTED_ASSIGNOR"])] * 9),
        ("C8", [*polled(5, (0, 10)), (9, CLUSTER, "event", "over", None)]),
    ],
)
def test_wrong_history_breaks_its_rule(rule: str, lines: list[Line]) -> None:
    assert rule in rules_broken(*START, *lines, timeout_ms=0)


@pytest.mark.parametrize(("error", "rules"), [("Interrupt", []), ("WakeupError", ["D8", "G2"])])
def test_listener_whose_poll_ctrl_c_ends_may_be_called_again_with_the_same(error: str, rules: list[str]) -> None:
    revoked = {"partitions": [TP], "robbed": {}}
    lines: list[Line] = [
        (5, PROC, "invoke", "poll", None),
        (5, PROC, "event", "revoked", revoked),
        (5, PROC, "info", "poll", {"text": ""}),
        (6, PROC, "invoke", "poll", None),
        (6, PROC, "event", "revoked", revoked),
    ]
    assert rules_broken(*START, *lines, timeout_ms=9, error=error) == rules


@pytest.mark.parametrize(
    ("protocol", "offset", "rules"), [("consumer", 10, ["C14"]), ("consumer", 0, []), ("classic", 10, [])]
)
def test_commit_to_a_topic_of_the_same_name_breaks_a_rule_where_topics_have_ids(
    protocol: str, offset: int, rules: list[str]
) -> None:
    lines: list[Line] = [
        *polled(5, (0, 10)),
        (6, CLUSTER, "event", "deleted", "t"),
        *polled(7),
        (8, CLUSTER, "event", "commit", ["g", TP, offset, PROC, 0]),
    ]
    assert rules_broken(born(**{"group.protocol": protocol}), *START[1:], *lines, timeout_ms=0) == rules


def cut(at_ms: int, end: int) -> Line:
    return (at_ms, CLUSTER, "event", "cut", [TP, end])


def read(at_ms: int, first: int, count: int, cuts: int) -> list[Line]:
    """A poll of records that were written after so many cuts."""
    value = {"runs": [[TP, first, count, cuts]], "wrong": [], "paused": [], "owned": [TP]}
    return [(at_ms, PROC, "invoke", "poll", None), (at_ms, PROC, "ok", "poll", value)]


AFTER_CUT: tuple[Line, ...] = (
    *polled(5, (0, 60)),
    cut(6, 50),
    (7, CLUSTER, "event", "append", [TP, 50, 50]),
)


@pytest.mark.parametrize(("first", "cuts"), [(50, 1), (0, 0)], ids=["at the cut", "by the reset policy"])
def test_behind_a_cut_reading_goes_on_at_the_cut_or_by_the_policy(first: int, cuts: int) -> None:
    assert rules_broken(*START, *AFTER_CUT, *read(8, first, 10, cuts), timeout_ms=0) == []


@pytest.mark.parametrize(
    ("rule", "lines"),
    [
        ("C1", read(8, 60, 10, 1)),
        ("C9", read(8, 49, 11, 0)),
        ("C9", read(8, 70, 10, 1)),
        ("C11", [*read(8, 50, 10, 1), *read(9, 60, 10, 0)]),
        ("C8", [*read(8, 50, 50, 0), (9, CLUSTER, "event", "over", None)]),
    ],
    ids=["over it", "too far back", "too far on", "what was lost comes after all", "the new records were never seen"],
)
def test_a_cut_excuses_what_it_has_taken_and_nothing_else(rule: str, lines: list[Line]) -> None:
    assert rule in rules_broken(*START, *AFTER_CUT, *lines, timeout_ms=0)


def test_who_was_outside_and_is_back_without_a_word_of_the_loss() -> None:
    seen = (4, PROC, "event", "member", ["m", -1])
    back = (6, PROC, "event", "member", ["m", 7])
    assert "G6" in rules_broken(*START, seen, *polled(5), back, timeout_ms=0)
    lost = (5, PROC, "event", "lost", {"partitions": [TP], "robbed": {}})
    assert rules_broken(*START, seen, lost, *polled(5), back, timeout_ms=0) == []


@pytest.mark.parametrize(("pause_ms", "kinds", "rules"), [
    (5, ("late",), ["G10"]),
    (MAX_POLL_MS, ("late",), []),
    (5, ("late", "delay"), []),
])  # fmt: skip
def test_loss_breaks_a_rule_if_nothing_but_late_responses_is_wrong(
    pause_ms: int, kinds: tuple[str, ...], rules: list[str]
) -> None:
    lost = (6 + pause_ms, PROC, "event", "lost", {"partitions": [TP], "robbed": {}})
    plan = PLAN._replace(faults=tuple(Fault(0, kind) for kind in kinds))
    assert rules_broken(*START, *polled(5), *polled(5 + pause_ms), lost, timeout_ms=0, plan=plan) == rules


def test_records_after_a_refused_commit_are_those_of_a_fenced_member() -> None:
    refused = [
        (5, PROC, "invoke", "commit_sync", None),
        (5, PROC, "info", "commit_sync", {"text": "UNKNOWN_MEMBER_ID"}),
    ]
    own = (4, PROC, "event", "assigned", {"partitions": [TP], "robbed": {}})
    lost = (6, PROC, "event", "lost", {"partitions": [TP], "robbed": {}})
    given: dict[str, object] = {"timeout_ms": 0, "error": "CommitFailedError"}
    assert "G8" in rules_broken(*START, own, *refused, *polled(7, (0, 1)), **given)  # type: ignore[arg-type]  # two
    assert "G8" not in rules_broken(*START, own, *refused, lost, *polled(7, (0, 1)), **given)  # type: ignore[arg-type]


def test_time_breakdown_has_the_whole_time() -> None:
    call: list[Line] = [(5, PROC, "invoke", "end_offsets", None)]
    reported = {"timeout_ms": 10, "elapsed_ms": 10, "limit": "default.api.timeout.ms", "spent_ms": ["metadata 7 ms"]}
    end = (15, PROC, "info", "end_offsets", reported)
    assert rules_broken(*START, *call, end, timeout_ms=10, error="ApiTimeout") == ["D3"]


def test_early_and_unexpected_ends() -> None:
    call: list[Line] = [(5, PROC, "invoke", "end_offsets", None)]
    reported = {"timeout_ms": 10, "elapsed_ms": 5, "limit": "default.api.timeout.ms", "spent_ms": ["metadata 5 ms"]}
    early = rules_broken(*START, *call, (10, PROC, "info", "end_offsets", reported), timeout_ms=10, error="ApiTimeout")
    assert early == ["D2"]
    poll: list[Line] = [(5, PROC, "invoke", "poll", None), (5, PROC, "info", "poll", {})]
    assert "R12" in rules_broken(*START, *(poll * 13), timeout_ms=0, error="NoProgressError")
    wrong = rules_broken(*START, *call, (10, PROC, "info", "end_offsets", {}), timeout_ms=10, error="KeyError")
    assert wrong == ["D8"]


def test_a_static_member_may_be_fenced_after_its_coordinator_has_moved() -> None:
    moved: Line = (6, CLUSTER, "event", "fault", {"kind": "coordinator", "duration_ms": 1})
    poll: list[Line] = [(7, PROC, "invoke", "poll", None), (7, PROC, "info", "poll", {})]
    assert rules_broken(*START, moved, *poll, timeout_ms=0, error="FencedInstanceIdError") == []
    assert rules_broken(*START, *poll, timeout_ms=0, error="FencedInstanceIdError") == ["D8"]
    assert rules_broken(moved, *START, *poll, timeout_ms=0, error="FencedInstanceIdError") == ["D8"]
