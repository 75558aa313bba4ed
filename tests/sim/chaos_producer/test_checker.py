"""Each rule refuses a history of producers that breaks it, and leaves one alone that does not."""

from typing import Any

import pytest

from kctl.client.cluster import TopicPartition
from tests.sim.chaos.history import CLUSTER, Entry
from tests.sim.chaos_producer.checker import check
from tests.sim.chaos_producer.plan import ClusterPlan, ProducerPlan

PLAN = ProducerPlan(0, "swarm", 1000, ClusterPlan(), (), ())
PROPERTIES = {
    "delivery.timeout.ms": 1000,
    "linger.ms": 0,
    "max.in.flight.requests.per.connection": 5,
    "acks": "all",
    "enable.idempotence": "true",
}
ALL, NONE = "read_uncommitted", "read_committed"


class Story:
    """A history as it is told: two records that go well, but for what a test says otherwise."""

    def __init__(self, **properties: object) -> None:
        self.entries: list[Entry] = []
        self.event("p1.1", "born", {**PROPERTIES, **properties}, at_ms=0)

    def add(
        self, at_ms: int, proc: str, kind: str, what: str, value: Any = None, timeout_ms: int = 0, error: str = ""
    ) -> None:
        self.entries.append(Entry(len(self.entries), at_ms, proc, kind, what, value, timeout_ms, error))

    def event(self, proc: str, what: str, value: Any, at_ms: int = 500) -> None:
        self.add(at_ms, proc, "event", what, value)

    def call(
        self, what: str, value: Any = None, *, at_ms: int = 5, end_ms: int = 5, timeout_ms: int = 0, error: str = "",
        asked: Any = None,
    ) -> None:  # fmt: skip
        self.add(at_ms, "p1.1/main", "invoke", what, asked, timeout_ms)
        self.add(end_ms, "p1.1/main", "info" if error else "ok", what, value, timeout_ms, error)

    def send(self, name: str) -> None:
        self.call("send", name, asked=[name, 0, 0])

    def told(self, name: str, offset: int, word: str = "ok", error: str = "", at_ms: int = 10) -> None:
        self.event("p1.1", "told", [name, word, error, ["t", 0], offset, ""], at_ms)

    def sent(self, *names: str, epoch: int = 0, at_ms: int = 8) -> None:
        self.event("p1.1", "sent", [0, list(names), [1000, epoch], 0], at_ms)

    def judged(self, first: str, *, is_acknowledged: bool = False) -> None:
        self.event("p1.1", "judged", [0, first, is_acknowledged], 9)

    def close(self, *counts: int, transaction: str | None = None) -> None:
        value = {"counts": [*counts, 0], "sums": [*counts, 0], "transaction": transaction}
        self.call("close", value, at_ms=100, end_ms=100)
        self.event("p1.1", "gone", {"undone": [], "columns": [], "counts": list(counts), "left": [0, 0, 0]})

    def log(self, *records: tuple[int, str], seen: list[tuple[int, str]] | None = None) -> None:
        self.event(CLUSTER, "log", [TopicPartition("t", 0), [list(one) for one in records]])
        for isolation, found in ((ALL, list(records)), (NONE, list(records) if seen is None else seen)):
            plain = [[0, offset, name] for offset, name in found]
            value = {"isolation": isolation, "records": plain, "wrong": [], "why_not": ""}
            self.event("fresh", "read", value)

    def rules(self, plan: ProducerPlan = PLAN) -> list[str]:
        return [violation.rule.split()[0] for violation in check(self.entries, plan)]


def plain(**properties: object) -> Story:
    story = Story(**properties)
    story.send("a")
    story.send("b")
    return story


@pytest.mark.parametrize(("is_aio", "rules"), [(True, ["P5"]), (False, [])])
def test_later_call_of_another_task_is_accepted_first(is_aio: bool, rules: list[str]) -> None:
    story = Story()
    story.add(5, "p1.1/t0", "invoke", "send", ["a", 0, 0])
    story.send("b")
    story.add(5, "p1.1/t0", "ok", "send", "a")
    story.told("a", 1)
    story.told("b", 0)
    story.close(2, 0, 0)
    story.log((0, "b"), (1, "a"))
    assert story.rules(PLAN._replace(is_aio=is_aio)) == rules


def rows() -> Story:
    """Two rows of columns: they have no callback."""
    story = Story()
    story.event("p1.1", "accepted", ["a", "b"], at_ms=5)
    return story


def test_correct_history_breaks_no_rule() -> None:
    story = plain()
    story.told("a", 0)
    story.told("b", 1)
    story.close(2, 0, 0)
    story.log((0, "a"), (1, "b"))
    assert story.rules() == []


@pytest.mark.parametrize(
    ("rule", "log"),
    [
        ("P1", [(0, "a")]),
        ("P2", [(0, "a"), (1, "b"), (2, "b")]),
        ("P3", [(0, "a"), (2, "b")]),
        ("P4", [(0, "b"), (1, "a")]),
    ],
)
def test_logs_that_are_not_what_was_told(rule: str, log: list[tuple[int, str]]) -> None:
    story = plain()
    story.told("a", 0)
    story.told("b", 1)
    story.close(2, 0, 0)
    story.log(*log)
    assert rule in story.rules()


@pytest.mark.parametrize(("acks", "is_lost"), [("all", True), ("1", False), ("0", False)])
def test_a_cut_excuses_what_was_acknowledged_by_a_leader_alone(acks: str, is_lost: bool) -> None:
    story = plain(acks=acks, **{"enable.idempotence": "true" if acks == "all" else "false"})
    story.told("a", 0)
    story.told("b", 1)
    story.event(CLUSTER, "cut", ["t", 0, 1])
    story.close(2, 0, 0)
    story.log((0, "a"))
    assert story.rules() == (["P1"] if is_lost else [])


@pytest.mark.parametrize("is_cut_after_sending", [True, False])
def test_a_cut_excuses_a_record_whose_acknowledgement_was_on_its_way(*, is_cut_after_sending: bool) -> None:
    story = plain(acks="1", **{"enable.idempotence": "false"})
    story.told("a", 0)
    if not is_cut_after_sending:
        story.event(CLUSTER, "cut", ["t", 0, 1])
    story.sent("b", epoch=-1)
    if is_cut_after_sending:
        story.event(CLUSTER, "cut", ["t", 0, 1])
    story.told("b", 1)
    story.close(2, 0, 0)
    story.log((0, "a"))
    assert story.rules() == ([] if is_cut_after_sending else ["P1"])


@pytest.mark.parametrize(("end", "rules"), [(1, []), (0, ["P2"]), (2, ["P2"])])
def test_a_log_that_forgot_its_producers_takes_a_repetition_for_something_new(end: int, rules: list[str]) -> None:
    story = plain()
    story.told("a", 0)
    story.told("b", 2)
    story.event(CLUSTER, "expired", [TopicPartition("t", 0), end])
    story.close(2, 0, 0)
    story.log((0, "a"), (1, "a"), (2, "b"))
    assert story.rules() == rules


def test_failed_record_that_is_in_the_log_breaks_a_rule() -> None:
    story = plain()
    story.told("a", 0)
    story.told("b", -1, "failed", "NotEnoughReplicasError")
    story.close(1, 1, 0)
    story.log((0, "a"), (1, "b"))
    assert story.rules() == ["P6"]


def test_record_of_unknown_fate_may_be_in_the_log_or_not() -> None:
    for log in ([(0, "a")], [(0, "a"), (1, "b")]):
        story = plain()
        story.told("a", 0)
        story.told("b", -1, "unknown", "DeliveryTimeout", at_ms=1005)
        story.close(1, 0, 1)
        story.log(*log)
        assert story.rules() == []


@pytest.mark.parametrize(
    ("rule", "at_ms", "error"), [("P7", 1006, "DeliveryTimeout"), ("D2", 1004, "DeliveryTimeout"), ("P7", 1006, "")]
)
def test_a_record_ends_at_its_deadline(rule: str, at_ms: int, error: str) -> None:
    story = plain()
    story.told("a", 0, "failed" if error else "ok", error, at_ms=at_ms)
    assert rule in story.rules()


def test_a_record_that_ends_twice_or_never() -> None:
    story = plain()
    story.told("a", 0)
    story.told("a", 0)
    story.log((0, "a"))
    assert story.rules() == ["P7", "P7"]


def test_a_record_that_was_altered_and_one_that_readers_see_elsewhere() -> None:
    story = plain()
    story.event("reader", "seen", [[0, 0, "a"]], at_ms=20)
    story.event("reader", "seen", [[0, 0, "b"]], at_ms=21)
    value = {"isolation": NONE, "records": [], "wrong": ["a: another key"], "why_not": ""}
    story.event("fresh", "read", value)
    assert story.rules() == ["P3", "P8"]


@pytest.mark.parametrize(("word", "rules"), [("ok", ["S1"]), ("failed", ["S1"]), ("unknown", [])])
def test_completed_record_is_not_sent_again_except_within_a_batch_of_unknown_fate(word: str, rules: list[str]) -> None:
    story = plain()
    story.sent("a", "b")
    story.judged("a")
    story.told("a", 0 if word == "ok" else -1, word, "" if word == "ok" else "DeliveryTimeout", at_ms=1005)
    story.sent("a", "b", at_ms=1005)
    assert story.rules() == rules


def test_records_go_out_in_the_order_of_send() -> None:
    story = plain()
    story.sent("b")
    story.judged("b", is_acknowledged=True)
    story.sent("a")
    assert story.rules() == ["S2"]


@pytest.mark.parametrize(
    ("idempotent", "window", "rules"), [("true", 5, ["S2"]), ("false", 1, ["S2"]), ("false", 5, [])]
)
def test_none_goes_before_one_that_is_to_go_again(idempotent: str, window: int, rules: list[str]) -> None:
    story = plain(**{"enable.idempotence": idempotent, "max.in.flight.requests.per.connection": window})
    story.sent("a")
    story.judged("a")
    story.sent("b")
    assert story.rules() == rules


def test_retried_batch_may_be_split_again() -> None:
    story = plain()
    story.sent("a", "b")
    story.judged("a")
    story.told("a", -1, "failed", "NotEnoughReplicasError")
    story.sent("b")
    assert story.rules() == []


@pytest.mark.parametrize(("proven", "epoch", "rules"), [(False, 0, ["S3"]), (True, 0, []), (True, 1, ["S3"])])
def test_a_broker_that_may_not_know_the_producer_gets_one_batch_alone(
    proven: bool, epoch: int, rules: list[str]
) -> None:
    story = Story()
    for name in ("a", "b", "c"):
        story.send(name)
    story.sent("a")
    story.judged("a", is_acknowledged=proven)
    if proven:
        story.told("a", 0)
    story.sent(*(["b"] if proven else ["a"]), epoch=epoch)
    story.sent("c", epoch=epoch)
    assert story.rules() == rules


def test_no_more_batches_are_on_their_way_than_allowed() -> None:
    story = plain(**{"enable.idempotence": "false", "max.in.flight.requests.per.connection": 1})
    story.sent("a")
    story.sent("b")
    assert story.rules() == ["S4"]


def test_nothing_goes_out_behind_a_close() -> None:
    story = plain()
    story.told("a", 0)
    story.told("b", -1, "failed", "CloseTimeout")
    story.close(1, 1, 0)
    story.sent("b", at_ms=101)
    assert story.rules() == ["S5", "S1"]


def test_flush_returns_only_when_all_before_it_is_done() -> None:
    story = plain()
    story.told("a", 0)
    story.call("flush", at_ms=20, end_ms=30, timeout_ms=100)
    assert story.rules() == ["F1"]


def test_flush_counts_what_is_outstanding() -> None:
    for undelivered, rules in ((1, []), (2, ["F2"]), (0, ["F2"])):
        story = plain()
        story.told("a", 0)
        value = {"undelivered": undelivered, "text": "", "timeout_ms": 100, "elapsed_ms": 100, "spent_ms": []}
        story.call("flush", value, at_ms=20, end_ms=120, timeout_ms=100, error="FlushTimeout")
        assert story.rules() == rules


def test_a_failure_that_no_flush_has_told_of() -> None:
    story = rows()
    story.told("a", 0)
    story.told("b", -1, "failed", "NotEnoughReplicasError")
    story.call("flush", at_ms=20, end_ms=20, timeout_ms=100)
    assert story.rules() == ["F1"]


@pytest.mark.parametrize(("at_ms", "rules"), [(18, ["F1"]), (19, [])], ids=["before", "at the same instant"])
def test_flush_that_was_under_way_when_another_told_of_a_failure_tells_of_it_too(at_ms: int, rules: list[str]) -> None:
    story = rows()
    story.told("a", 0)
    story.told("b", -1, "failed", "NotEnoughReplicasError")
    story.add(15, "p1.1/t0", "invoke", "flush", None, 100)
    story.add(at_ms, "p1.1/main", "invoke", "flush", None, 100)
    story.add(19, "p1.1/t0", "info", "flush", {"undelivered": 1, "text": ""}, 100, "UndeliveredError")
    story.add(20, "p1.1/main", "ok", "flush", None, 100)
    assert story.rules() == rules


def test_record_with_the_time_of_a_clock_before_1970() -> None:
    story = plain()
    story.event("p1.1", "before-1970", ["a", -5])
    assert story.rules() == ["F7"]


@pytest.mark.parametrize(
    ("at_ms", "end_ms", "error", "rules"),
    [
        (20, 20, "UndeliveredError", []),
        (20, 21, "UndeliveredError", ["F1"]),
        (20, 20, "", ["F1"]),
        (18, 20, "UndeliveredError", ["F1"]),
    ],
    ids=["at its instant", "later", "not at all", "both were under way"],
)
def test_flush_without_a_failure_began_when_that_of_another_thread_had_told_of_it(
    at_ms: int, end_ms: int, error: str, rules: list[str]
) -> None:
    story = rows()
    story.told("a", 0)
    story.told("b", -1, "failed", "NotEnoughReplicasError")
    story.add(15, "p1.1/t0", "invoke", "flush", None, 100)
    story.call("flush", at_ms=at_ms, end_ms=20, timeout_ms=100)
    value = {"undelivered": 1, "text": ""} if error else None
    story.add(end_ms, "p1.1/t0", "info" if error else "ok", "flush", value, 100, error)
    assert story.rules() == rules


def test_close_and_metrics_count_as_the_futures_do() -> None:
    story = plain()
    story.told("a", 0)
    story.told("b", -1, "unknown", "CloseTimeout")
    story.close(1, 1, 0)
    assert story.rules() == ["F3", "F3"]


@pytest.mark.parametrize(("records", "batches", "rules"), [(9, 2, []), (9, 3, ["H3"]), (8, 1, ["H3"])])
def test_batches_that_stay_small_though_the_topic_takes_larger_ones(
    records: int, batches: int, rules: list[str]
) -> None:
    story = Story()
    story.event(CLUSTER, "narrow", {"records": records, "batches": batches, "wanted": 9, "most": 2})
    assert story.rules() == rules


def test_calls_that_are_late_early_or_raise_what_they_should_not() -> None:
    story = plain()
    story.call("partitions_for", 3, at_ms=20, end_ms=121, timeout_ms=100)
    reported = {"timeout_ms": 100, "elapsed_ms": 90, "text": "", "spent_ms": ["metadata 80 ms"], "undelivered": None}
    story.call("partitions_for", reported, at_ms=200, end_ms=290, timeout_ms=100, error="MaxBlockTimeout")
    story.call("flush", {"undelivered": None}, at_ms=300, end_ms=300, error="KeyError")
    assert story.rules() == ["D1", "D2", "D3", "D8"]


@pytest.mark.parametrize(
    ("accepted", "reported", "rules"), [(["a", "b"], 2, []), (["a"], 2, ["F4"]), (["a", "b"], 1, ["F4"])]
)
def test_a_call_with_columns_returns_when_all_its_rows_are_accepted(
    accepted: list[str], reported: int, rules: list[str]
) -> None:
    story = Story()
    story.event("p1.1", "accepted", accepted, at_ms=5)
    story.call("columns", reported, asked=["a", "b"])
    assert story.rules() == rules


@pytest.mark.parametrize(("reported", "rules"), [(1, []), (2, ["F4"])])
def test_a_call_with_columns_that_times_out_tells_how_many_rows_were_accepted(reported: int, rules: list[str]) -> None:
    story = Story()
    story.event("p1.1", "accepted", ["a"], at_ms=5)
    error = {"accepted": reported, "timeout_ms": 0, "elapsed_ms": 0, "spent_ms": [], "text": ""}
    story.call("columns", error, asked=["a", "b"], error="MaxBlockTimeout")
    assert story.rules() == rules


@pytest.mark.parametrize(("counts", "rules"), [([1, 1], []), ([2, 0], ["F4"]), ([1, 0], ["F4"])])
def test_the_future_of_columns_counts_its_rows_as_they_are_told(counts: list[int], rules: list[str]) -> None:
    story = Story()
    story.event("p1.1", "accepted", ["p1.1/7", "p1.1/8"], at_ms=5)
    story.told("p1.1/7", 0)
    story.told("p1.1/8", -1, "unknown", "CloseTimeout")
    value = {"undone": [], "columns": [["p1.1/7", 2, *counts]], "counts": [1, 0, 1], "left": [0, 0, 0]}
    story.event("p1.1", "gone", value)
    assert story.rules() == rules


def test_rows_that_were_taken_back_are_nobodys() -> None:
    story = plain()
    story.event("p1.1", "accepted", ["c"], at_ms=5)
    story.event("p1.1", "taken-back", ["c"], at_ms=5)
    story.told("a", 0)
    story.told("b", 1)
    story.close(2, 0, 0)
    story.log((0, "a"), (1, "b"))
    assert story.rules() == []


def transacted(*, commit: str = "", abort: bool = False, **properties: object) -> Story:
    """Two records in one transaction, and its end: `commit` is ok or the error of the commit."""
    story = Story(**{"transactional.id": "x1", **properties})
    story.call("init")
    story.call("begin")
    story.send("a")
    story.send("b")
    story.told("a", 0)
    story.told("b", 1)
    if commit:
        reported = {"timeout_ms": 0, "elapsed_ms": 0, "text": "", "spent_ms": [], "undelivered": None}
        story.call("commit", reported, error="" if commit == "ok" else commit)
    if abort:
        story.call("abort")
    return story


LOG = ((0, "a"), (1, "b"))


@pytest.mark.parametrize(
    ("commit", "seen", "rules"),
    [
        ("ok", [(0, "a"), (1, "b")], []),
        ("ok", [(0, "a")], ["T3"]),
        ("ok", [], ["T3"]),
        ("MaxBlockTimeout", [], []),
        ("MaxBlockTimeout", [(0, "a"), (1, "b")], []),
        ("MaxBlockTimeout", [(1, "b")], ["T3"]),
        ("", [(0, "a"), (1, "b")], ["T2", "T2"]),
    ],
)
def test_a_transaction_is_seen_whole_or_not_at_all(commit: str, seen: list[tuple[int, str]], rules: list[str]) -> None:
    story = transacted(commit=commit)
    story.log(*LOG, seen=seen)
    assert story.rules() == rules


def test_a_transaction_that_was_aborted_is_seen() -> None:
    story = transacted(commit="MaxBlockTimeout", abort=True)
    story.log(*LOG, seen=list(LOG))
    assert set(story.rules()) == {"T1"}


def test_close_tells_what_becomes_of_the_transaction() -> None:
    story = transacted(commit="MaxBlockTimeout")
    story.close(2, 0, 0, transaction="open")
    story.log(*LOG, seen=list(LOG))
    assert set(story.rules()) == {"T1"}


def test_a_transaction_of_a_producer_that_was_fenced_is_seen() -> None:
    story = transacted()
    story.event("p2.1", "born", {**PROPERTIES, "transactional.id": "x1"}, at_ms=6)
    for kind in ("invoke", "ok"):
        story.add(7, "p2.1/main", kind, "init")
    story.call("commit", at_ms=8, end_ms=8)
    story.log(*LOG, seen=list(LOG))
    assert story.rules() == ["T5"]


@pytest.mark.parametrize("what", ["begin", "commit", "send"])
def test_call_that_succeeds_after_an_abortable_error_breaks_t7(what: str) -> None:
    story = transacted(commit="AbortableTransactionError")
    story.call(what, "c" if what == "send" else None)
    assert "T7" in story.rules()


def test_the_offset_of_a_group_is_that_of_the_last_committed_transaction() -> None:
    for offset, rules in ((10_010_001, []), (None, ["T4"]), (10_010_002, ["T4"])):
        story = transacted()
        story.call("offsets", asked=1)
        story.call("commit")
        story.log(*LOG)
        story.event("fresh", "committed", ["x1", offset])
        assert story.rules() == rules


@pytest.mark.parametrize(
    ("rule", "what", "value"),
    [
        ("H1", "settled", {"after_ms": 9, "why_not": "p1 is not there"}),
        ("R1", "left", {"connections": 1, "actors": (), "entries": []}),
        ("R6", "exception", {"actor": "p1", "text": "KeyError"}),
        ("R7", "stuck", "100000 steps"),
    ],
)
def test_cluster_event_breaks_its_rule(rule: str, what: str, value: Any) -> None:
    story = plain()
    story.event(CLUSTER, what, value)
    assert story.rules() == [rule]


def test_closed_producer_that_keeps_records_or_memory_breaks_its_rules() -> None:
    story = Story()
    story.event("p1.1", "gone", {"undone": ["a"], "columns": [], "counts": [0, 0, 0], "left": [0, 0, 90]})
    assert story.rules() == ["P7", "R4"]


def test_once_it_is_calm_everything_goes_well_at_once() -> None:
    story = Story()
    story.event(CLUSTER, "stable", None, at_ms=1)
    story.call("flush", at_ms=5, end_ms=300, timeout_ms=10_000)
    story.call("close", {"counts": [0, 0, 0], "sums": [0, 0, 0], "transaction": None}, end_ms=1100, timeout_ms=9000)
    assert story.rules() == ["D7", "D5"]
