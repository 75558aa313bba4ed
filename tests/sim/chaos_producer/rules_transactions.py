"""Rules T1 to T10: transactions are visible entirely or not at all, and only after their commit.

| id | rule |
|---|---|
| T1 aborted-read | no record of an aborted transaction is visible |
| T2 precommitted-read | no record is visible before the commit call |
| T3 torn | a transaction is visible entirely or not at all; after commit, all its records are delivered and visible |
| T4 offsets | the committed offset is the offset of the last transaction that committed one |
| T5 fenced | nothing that was committed after another producer got the id becomes visible |
| T7 illegal | after an abortable error only an abort succeeds, after a fatal one only a close |
| T9 close-lies | the report of close about the transaction is correct |
| T10 after-abort | a transaction after an abort commits within delivery.timeout.ms while all brokers are healthy |
"""

from collections.abc import Iterator

from tests.sim.chaos.checker import Violation, broken
from tests.sim.chaos.history import Entry
from tests.sim.chaos_producer.facts import Facts, Producing, Record, Transaction, life_of


class TransactionRules:
    """Records visible to readers of committed records."""

    def __init__(self) -> None:
        self._seen: dict[str, None] = {}
        """Names of records that somebody has read as committed."""
        self._is_read = False
        self._invoked: dict[str, int] = {}
        """Entry at which the current call of a thread began."""
        self._offsets: dict[str, int | None] = {}

    def see(self, entry: Entry, facts: Facts) -> Iterator[Violation]:
        if entry.what == "seen":
            yield from self._read(entry, [name for _, _, name in entry.value], facts)
        elif entry.what == "read" and entry.value["isolation"] == "read_committed":
            self._is_read = not entry.value["why_not"]
            yield from self._read(entry, [name for _, _, name in entry.value["records"]], facts)
        elif entry.proc == "fresh" and entry.what == "committed":
            transactional_id, offset = entry.value
            self._offsets[transactional_id] = offset
        elif entry.what == "after-abort":
            if entry.value["error"] or entry.value["took_ms"] >= entry.value["delivery_ms"]:
                yield broken("T10 after-abort", entry, str(entry.value))
        elif entry.kind == "invoke":
            self._invoked[entry.proc] = entry.number
        elif entry.kind == "ok" and entry.what in ("begin", "commit", "send", "columns"):
            producer = facts.producers[life_of(entry.proc)]
            is_behind = self._invoked[entry.proc] > producer.erred  # a send may have waited for memory all along
            if is_behind and (producer.is_fatal or producer.is_aborted_only):
                why = "a fatal" if producer.is_fatal else "an abortable"
                yield broken("T7 illegal", entry, f"{entry.what} went well after {why} error")

    def _read(self, entry: Entry, names: list[str], facts: Facts) -> Iterator[Violation]:
        for name in names:
            self._seen[name] = None
            transaction = _transaction_of(facts.records.get(name), facts)
            if transaction is None:
                continue
            if transaction.commit_invoked < 0:
                yield broken("T2 precommitted-read", entry, f"{name} of {transaction}")
            if transaction.end == "aborted":
                yield broken("T1 aborted-read", entry, f"{name} of {transaction}")

    def end(self, facts: Facts) -> Iterator[Violation]:
        if not self._is_read:
            return
        for transaction in facts.transactions():
            yield from self._whole(transaction, facts)
        for transactional_id, offset in self._offsets.items():
            yield from self._offset(transactional_id, offset, facts)

    def _whole(self, transaction: Transaction, facts: Facts) -> Iterator[Violation]:
        life = transaction.life
        part = [record for record in transaction.records if record.error not in _OUTSIDE]
        seen = [record for record in part if record.name in self._seen]
        missing = [record.name for record in part if record.name not in self._seen]
        if transaction.end == "committed":
            lost = [record.name for record in part if record.word != "ok"]
            if lost:
                yield Violation("T3 torn", -1, -1, life, f"{transaction} was committed without {lost[:3]}")
        if (seen or transaction.end == "committed") and missing:
            text = f"of {transaction} ({transaction.end or 'unknown'}) {len(seen)} are seen, and not {missing[:3]}"
            yield Violation("T3 torn", -1, -1, life, text)
        if seen and transaction.end == "aborted":
            yield Violation("T1 aborted-read", -1, -1, life, f"{seen[0].name} of {transaction}")
        if seen and self._is_fenced(transaction, facts):
            yield Violation("T5 fenced", -1, -1, life, f"{transaction} was committed after another got the id")

    @staticmethod
    def _is_fenced(transaction: Transaction, facts: Facts) -> bool:
        producer = facts.producers[transaction.life]
        inits = facts.inits.get(producer.transactional_id, ())
        own = max((init.reported for init in inits if init.life == producer.name), default=-1)
        return any(own < init.asked and init.reported < transaction.commit_invoked for init in inits)

    def _offset(self, transactional_id: str, offset: int | None, facts: Facts) -> Iterator[Violation]:
        """The offset is of the last transaction that committed one; of those that nobody knows of it may be any."""
        allowed: list[int | None] = [None]
        for producer in self._in_order(transactional_id, facts):
            for transaction in producer.transactions:
                if transaction.offset is None or transaction.end == "aborted":
                    continue
                records = [record for record in transaction.records if record.error not in _OUTSIDE]
                is_seen = any(record.name in self._seen for record in records)
                if records and not is_seen and transaction.end != "committed":
                    continue
                is_certain = transaction.is_offset_sure and (is_seen or transaction.end == "committed")
                allowed = [transaction.offset] if is_certain else [*allowed, transaction.offset]
        if offset not in allowed:
            text = f"the group of {transactional_id} stands at {offset}, and should at {allowed[-3:]}"
            yield Violation("T4 offsets", -1, -1, "fresh", text)

    @staticmethod
    def _in_order(transactional_id: str, facts: Facts) -> list[Producing]:
        order = [init.life for init in facts.inits.get(transactional_id, ())]
        return [facts.producers[life] for life in dict.fromkeys(order)]


_OUTSIDE = ("IllegalStateError",)
"""Errors of records that came when no transaction was open any more: they were never part of one."""


def _transaction_of(record: Record | None, facts: Facts) -> Transaction | None:
    if record is None or not record.transaction:
        return None
    return facts.producers[record.life].transactions[record.transaction - 1]
