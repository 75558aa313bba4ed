"""Rules D1 to D8, F1 to F7, and H1 to H3: calls return by their deadlines, to the millisecond, and report correctly.

| id | rule |
|---|---|
| D1 late | a call returns at or before start + timeout; one without a timeout takes no time |
| D2 early | a timeout error comes at the deadline, not before |
| D3 wrong-account | a timeout error has the limit and the elapsed time of its call; its time breakdown is complete |
| D5 close | in the calm, close delivers everything immediately |
| D7 slow | in the calm, flush and transactions return within a quarter of a second |
| D8 unexpected-error | calls raise only their documented errors |
| F1 flush-lies | flush returns after all earlier records are delivered or reported; parallel flushes share reports |
| F2 flush-count | the count in its error is the number of undelivered records |
| F4 columns-counts | send_columns returns the number of accepted rows; its future counts their results |
| F5 lost-in-silence | a program exit without close() reports lost records after the available time |
| F6 unaccounted | `kctl produce` reports each line, or the line to continue from; it exits within --api-timeout |
| F7 before-1970 | no record is accepted while the clock shows a time before 1970 |
| F3 close-counts | the counts of close and metrics match the futures, all completed; aborted records are separate |
| H1 heal | after the faults, everything works again within a bound |
| H3 narrow | a producer with rejected batches fills them again once the topic accepts larger ones |
| H2 starved | a producer with all in-flight slots used detects new topics and leaders within a bound |
"""

from collections import Counter
from collections.abc import Iterator

from kctl.client.clock import FOREVER_MS
from tests.sim.chaos.checker import Violation, broken
from tests.sim.chaos.history import CLUSTER, Entry
from tests.sim.chaos.rules_refusals import REFUSALS
from tests.sim.chaos_producer.facts import Facts, Producing, Record, life_of

SLOW_MS = 250
MOST_BATCHES = 10
"""One after the other, in a call of the calm: a batch may have one record, and one may be in flight."""
CLOSE_LIMIT_MS = 1000
_SOON = ("flush", "commit", "offsets", "send", "columns", "begin")
_OF_TRANSACTIONS = ("IllegalStateError", "AbortableTransactionError", "FatalTransactionError")
_ENDS = ("MaxBlockTimeout", *_OF_TRANSACTIONS)
_NOT_ACCEPTED = ("MaxBlockTimeout", "RecordTooLargeError", "UnknownTopicOrPartitionError", "WrongClock")
EXPECTED: dict[str, tuple[str, ...]] = {
    "send": ("Interrupt", *_NOT_ACCEPTED),
    "columns": _NOT_ACCEPTED,
    "flush": ("FlushTimeout", "UndeliveredError", "Interrupt"),
    "partitions_for": ("MaxBlockTimeout", "Interrupt"),
    "init": _ENDS,
    "begin": _OF_TRANSACTIONS,
    "offsets": _ENDS,
    "commit": _ENDS,
    "abort": _ENDS,
}
TIMEOUTS = ("MaxBlockTimeout", "FlushTimeout", "ResultTimeout", "CloseTimeout")


class CallRules:
    """The calls under way."""

    def __init__(self) -> None:
        self._open: dict[str, Entry] = {}
        self._before_flush: dict[str, list[Record]] = {}
        """Accepted records that were not delivered at the start of the current flush, by thread."""
        self._counts: dict[str, list[tuple[Entry, bool]]] = {}
        """Completed close calls, and whether they were in a callback, by producer."""
        self._reported_ms: dict[str, int] = {}
        """Time at which a flush reported a record as undelivered."""
        self._left_to: dict[str, tuple[Entry, set[str], int]] = {}
        """Flush that omitted a failed record, threads whose parallel flush may report it, and the deadline for that."""

    def see(self, entry: Entry, facts: Facts) -> Iterator[Violation]:
        if entry.proc == CLUSTER:
            if entry.what == "settled" and entry.value["why_not"]:
                yield broken("H1 heal", entry, f"after {entry.value['after_ms']} ms: {entry.value['why_not']}")
            if entry.what == "saturated" and entry.value.get("took_ms", FOREVER_MS) > entry.value.get("limit_ms", 0):
                yield broken("H2 starved", entry, str(entry.value))
            if entry.what == "narrow" and (
                entry.value["records"] != entry.value["wanted"] or entry.value["batches"] > entry.value["most"]
            ):
                yield broken("H3 narrow", entry, str(entry.value))
            if entry.what == "accounted":
                yield from self._accounted(entry)
            return
        if entry.kind == "invoke":
            self._open[entry.proc] = entry
            if entry.what == "flush":
                records = facts.producers[life_of(entry.proc)].records
                self._before_flush[entry.proc] = [record for record in records if record.word != "ok"]
        elif entry.kind in ("ok", "info"):
            yield from self._ended(self._open.pop(entry.proc), entry, facts)
        elif entry.what == "before-1970":
            yield broken("F7 before-1970", entry, str(entry.value))
        elif entry.what == "gone":
            yield from self._gone(entry, facts.producers[life_of(entry.proc)])
            yield from self._columns(entry, facts)

    def _ended(self, began: Entry, entry: Entry, facts: Facts) -> Iterator[Violation]:
        producer = facts.producers[life_of(entry.proc)]
        elapsed_ms = entry.at_ms - began.at_ms
        limit_ms = entry.timeout_ms or 0
        if entry.at_ms > max(began.at_ms + limit_ms, entry.stalled_ms):
            yield broken("D1 late", entry, f"{entry.what}: {elapsed_ms} ms of {limit_ms} ms")
        if entry.error in TIMEOUTS and (entry.what != "result" or entry.error == "ResultTimeout"):
            yield from self._timeout(entry, elapsed_ms, limit_ms)
        if entry.error not in REFUSALS or not facts.plan.has_strange_bytes:  # R10 says when a refusal is wrong
            yield from self._error(entry, producer)
        if entry.what == "flush":
            yield from self._flushed(began, entry, producer)
        if entry.what == "columns" and (entry.kind == "ok" or entry.error == "MaxBlockTimeout"):
            accepted = sum(name in facts.records for name in began.value)
            reported = entry.value if entry.kind == "ok" else entry.value["accepted"]
            if reported != accepted or (entry.kind == "ok" and accepted != len(began.value)):
                yield broken(
                    "F4 columns-counts", entry, f"{reported} of {len(began.value)}, and {accepted} are accepted"
                )
        if entry.what == "close" and entry.kind == "ok":
            self._counts.setdefault(producer.name, []).append((entry, entry.proc.endswith("/callback")))
        if entry.what == "exit":
            yield from self._exited(began, entry, producer)
        if facts.phase in ("stable", "over") and began.at_ms >= facts.stable_ms:
            yield from self._calm(entry, elapsed_ms, producer, facts)

    @staticmethod
    def _timeout(entry: Entry, elapsed_ms: int, limit_ms: int) -> Iterator[Violation]:
        reported = entry.value
        is_in_callback = entry.proc.endswith("/callback")  # where nothing waits
        if elapsed_ms < limit_ms and not is_in_callback:
            yield broken("D2 early", entry, f"{entry.what}: {elapsed_ms} ms of {limit_ms} ms, {reported['text']}")
        is_other_limit = reported["timeout_ms"] != limit_ms and not is_in_callback
        if is_other_limit or abs(reported["elapsed_ms"] - elapsed_ms) > 1:
            yield broken("D3 wrong-account", entry, f"{elapsed_ms} ms of {limit_ms} ms: {reported}")
        spent_ms = sum(int(line.split()[-2]) for line in reported["spent_ms"])
        if reported["spent_ms"] and abs(spent_ms - elapsed_ms) > 1:
            yield broken("D3 wrong-account", entry, f"{spent_ms} ms of {elapsed_ms} ms: {reported['spent_ms']}")

    @staticmethod
    def _error(entry: Entry, producer: Producing) -> Iterator[Violation]:
        if not entry.error or entry.what == "result":
            return
        is_of_end = entry.error == "IllegalStateError" and producer.closes > 0
        is_of_transaction = bool(producer.transactional_id) and entry.error in _OF_TRANSACTIONS
        is_expected = entry.error in EXPECTED.get(entry.what, ())
        if not is_of_end and not is_of_transaction and not is_expected:
            yield broken("D8 unexpected-error", entry, f"{entry.what}: {entry.error}: {entry.value}")

    def _flushed(self, began: Entry, entry: Entry, producer: Producing) -> Iterator[Violation]:
        before = self._before_flush.pop(entry.proc)
        open_now = [record for record in before if not record.word]
        failed = [record for record in before if record.word not in ("ok", "")]
        if entry.kind == "ok":
            if open_now:
                yield broken("F1 flush-lies", entry, f"it returned, and {open_now[0].name} is not done")
            begun_ms = max(began.at_ms, entry.stalled_ms)
            new = [record for record in failed if self._reported_ms.get(record.name, entry.at_ms + 1) > begun_ms]
            new = [record for record in new if not record.is_handed]
            if new and not producer.transactional_id:  # the end of a transaction also reports failures
                is_instant = began.at_ms == entry.at_ms
                others = {proc for proc in self._before_flush if is_instant and life_of(proc) == life_of(entry.proc)}
                for record in new:
                    self._left_to.setdefault(record.name, (entry, others, entry.at_ms if is_instant else begun_ms))
        if entry.error in ("FlushTimeout", "UndeliveredError"):
            for record in failed:
                self._reported_ms.setdefault(record.name, entry.at_ms)
            count = entry.value["undelivered"]
            accepted_open = sum(not record.word or record.reported_ms == entry.at_ms for record in producer.records)
            undelivered = sum(record.word not in ("ok", "") for record in producer.records)
            if not len(open_now) <= count <= accepted_open + undelivered or count <= 0:
                yield broken(
                    "F2 flush-count", entry, f"{count}, and {len(open_now)} are outstanding, {undelivered} have failed"
                )
        yield from self._unreported(entry)

    def _exited(self, began: Entry, entry: Entry, producer: Producing) -> Iterator[Violation]:
        reported, said = entry.value["records"], entry.value["said"]
        lost = [record for record in producer.records if record.word != "ok" and record.name not in self._reported_ms]
        lost = [record for record in lost if not record.word or not record.is_handed]
        is_silent = reported < len(lost) and not producer.transactional_id  # ends of transactions report failures
        if is_silent or reported > sum(record.word != "ok" for record in producer.records):
            yield broken("F5 lost-in-silence", entry, f"{reported} are reported, and {len(lost)} are not delivered")
        if bool(said) != bool(reported or entry.value["transaction"] not in (None, "committed")):
            yield broken("F5 lost-in-silence", entry, f"it says {said!r}: {entry.value}")
        for record in lost:
            if record.error == "CloseTimeout" and record.reported_ms + 1 < began.at_ms + (entry.timeout_ms or 0):
                used_ms = record.reported_ms - began.at_ms
                yield broken("F5 lost-in-silence", entry, f"{record.name}: {used_ms} ms of {entry.timeout_ms} ms")

    def _unreported(self, entry: Entry) -> Iterator[Violation]:
        """Yield failed records that neither a flush nor a parallel flush of another thread has reported."""
        for name, (flushed, others, told_by_ms) in list(self._left_to.items()):
            others.discard(entry.proc)
            until_ms = max(told_by_ms, entry.stalled_ms)
            is_told = self._reported_ms.get(name, FOREVER_MS) <= until_ms
            if is_told or not others or entry.at_ms > until_ms:
                del self._left_to[name]
            if not is_told and name not in self._left_to:
                yield broken("F1 flush-lies", flushed, f"it returned, and {name} has failed")

    @staticmethod
    def _calm(entry: Entry, elapsed_ms: int, producer: Producing, facts: Facts) -> Iterator[Violation]:
        cluster = facts.plan.cluster
        slow_ms = SLOW_MS + int(producer.properties["linger.ms"]) + cluster.markers_ms
        slow_ms += MOST_BATCHES * cluster.replication_ms
        if entry.what in ("flush", "commit", "offsets", "send", "columns", "begin") and (
            entry.error or elapsed_ms > slow_ms
        ):
            yield broken("D7 slow", entry, f"{entry.what}: {elapsed_ms} ms, {entry.error or 'ok'} {entry.value or ''}")
        if entry.what == "close" and entry.kind == "ok":
            is_clean = not any(
                record.reported_ms >= entry.at_ms - elapsed_ms and record.word != "ok" for record in producer.records
            )
            if elapsed_ms > CLOSE_LIMIT_MS or not is_clean or entry.value["transaction"] not in (None, "committed"):
                yield broken("D5 close", entry, f"{elapsed_ms} ms: {entry.value}")

    @staticmethod
    def _accounted(entry: Entry) -> Iterator[Violation]:
        value = entry.value
        last = value["lines"] if value["read_to"] is None else value["read_to"]
        taken = last if value["not_sent"] is None else value["not_sent"] - 1
        written = set(value["written"])
        wrong = ""
        if len(written) != len(value["written"]):
            wrong = "lines are in the log twice"
        elif value["kept"] is not None and written.union(value["kept"]) != set(range(1, last + 1)):
            lost = sorted(set(range(1, last + 1)).symmetric_difference(written.union(value["kept"])))
            wrong = f"lines {lost[:10]} of those read are lost, or are there and are not read"
        elif value["delivered"] + value["failed"] != taken or not written <= set(range(1, taken + 1)):
            wrong = f"{taken} lines were taken"
        elif value["delivered"] > len(written) or (value["code"] == 0) != (value["delivered"] == value["lines"]):
            wrong = f"{len(written)} lines are in the log"
        elif value["limit_ms"] is not None and value["took_ms"] > value["limit_ms"]:
            wrong = "it ended too late"
        if wrong:
            shown = {name: each for name, each in value.items() if name not in ("written", "kept")}
            yield broken("F6 unaccounted", entry, f"{wrong}: {shown}")

    @staticmethod
    def _columns(entry: Entry, facts: Facts) -> Iterator[Violation]:
        for first, count, *counts in entry.value["columns"]:
            proc, _, number = first.rpartition("/")
            names = [f"{proc}/{int(number) + row}" for row in range(count)]
            words = [facts.records[name].word if name in facts.records else "never accepted" for name in names]
            truth = [words.count("ok"), count - words.count("ok")]
            if counts != truth:
                yield broken("F4 columns-counts", entry, f"the future of {first} counts {counts}, and it is {truth}")

    def _gone(self, entry: Entry, producer: Producing) -> Iterator[Violation]:
        """All futures have ended: whoever counted them has to agree."""
        words = Counter(record.word for record in producer.records)
        truth = [words["ok"], words["failed"], words["unknown"]]
        if entry.value["counts"] != truth:
            yield broken("F3 close-counts", entry, f"metrics say {entry.value['counts']}, the futures {truth}")
        for close, is_in_callback in self._counts.get(producer.name, ()):
            counts = close.value["counts"]
            if close.value["sums"] != counts:
                yield broken("F3 close-counts", close, f"by partition {close.value['sums']}, in all {counts}")
            least, most = _account(producer, close)
            if not is_in_callback and sum(counts) != sum(truth):
                yield broken("F3 close-counts", close, f"close returned {counts}, the futures say {truth}")
            elif any(one > other for one, other in zip(counts, most, strict=True)) or (
                not is_in_callback and any(one < other for one, other in zip(counts, least, strict=True))
            ):
                yield broken("F3 close-counts", close, f"close returned {counts}, not between {least} and {most}")

    def end(self, facts: Facts) -> Iterator[Violation]:
        del facts
        yield from ()


def _account(producer: Producing, close: Entry) -> tuple[list[int], list[int]]:
    """Return the least and most that a close may count as delivered, failed, unknown and aborted."""
    least, most = [0, 0, 0, 0], [0, 0, 0, 0]
    for record in producer.records:
        kind = ("ok", "failed", "unknown").index(record.word)
        transaction = producer.transactions[record.transaction - 1] if record.transaction else None
        is_last = transaction is producer.transactions[-1] if transaction is not None else False
        end = "" if transaction is None else transaction.end
        if record.error == "IllegalStateError" or (is_last and close.value["transaction"] in ("open", "unknown")):
            end = ""  # it may have been part of no transaction, or of one that the broker ends
        is_certain = transaction is None or bool(end)
        for place in {kind, 3} if not is_certain else {3 if end == "aborted" else kind}:
            most[place] += 1
            least[place] += is_certain
    return least, most
