"""Facts in a history of producers so far: records and their results, transactions, and live producers.

Rules read them and never change them.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from kctl.client.cluster import TopicPartition
from tests.sim.chaos.history import CLUSTER, Entry
from tests.sim.chaos_producer.plan import ProducerPlan

ENDS = {"commit": "committed", "abort": "aborted"}


def life_of(proc: str) -> str:
    """Return the producer that a thread uses: `p1.2` for `p1.2/main`."""
    return proc.split("/")[0]


class Record:
    """One record that was accepted.

    Attributes:
        number: its place among all that its producer accepted.
        transaction: the number of its producer's transaction, 0 outside of any.
        word: ok, failed or unknown once it is told.
        is_handed: whether a callback or a future gives its failure to the program, so that flush need not repeat it.
        offset: -1 where the producer was not told.
    """

    __slots__ = (
        "accepted_ms", "at", "error", "is_handed", "life", "name", "number", "offset", "reported_ms", "reported_number",
        "transaction", "word",
    )  # fmt: skip

    def __init__(self, name: str, life: str, number: int, accepted_ms: int, transaction: int) -> None:
        self.name = name
        self.life = life
        self.number = number
        self.accepted_ms = accepted_ms
        self.transaction = transaction
        self.word = ""
        self.error = ""
        self.is_handed = False
        self.at = TopicPartition("", -1)
        self.offset = -1
        self.reported_ms = -1
        self.reported_number = -1


class Transaction:
    """Transaction, as seen by its producer.

    Attributes:
        end: committed or aborted, once certain.
        commit_invoked: entry of the first commit call, or -1.
        offset: committed offset of the input, or None; unsure offsets may be committed or not.
    """

    __slots__ = ("commit_invoked", "commit_ms", "end", "is_offset_sure", "life", "number", "offset", "records")

    def __init__(self, life: str, number: int) -> None:
        self.life = life
        self.number = number
        self.end = ""
        self.commit_invoked = -1
        self.commit_ms = -1
        self.offset: int | None = None
        self.is_offset_sure = False
        self.records: list[Record] = []

    def __str__(self) -> str:
        return f"transaction {self.number} of {self.life}"


class Init(NamedTuple):
    """A producer that got its transactional id: somewhere between two entries."""

    life: str
    asked: int
    reported: int


class Producing:
    """One producer."""

    __slots__ = ("closes", "erred", "is_aborted_only", "is_fatal", "name", "properties", "records", "transactions")

    def __init__(self, name: str, properties: dict[str, Any]) -> None:
        self.name = name
        self.properties = properties
        self.records: list[Record] = []
        self.transactions: list[Transaction] = []
        self.closes = 0
        """Number of close calls."""
        self.is_aborted_only = False
        self.is_fatal = False
        self.erred = -1
        """The entry of its latest error of the last two kinds."""

    @property
    def transactional_id(self) -> str:
        return str(self.properties.get("transactional.id", ""))

    @property
    def is_idempotent(self) -> bool:
        return str(self.properties.get("enable.idempotence", "true")) == "true"

    @property
    def is_ordered(self) -> bool:
        return self.is_idempotent or (
            self.acks != "0" and str(self.properties["max.in.flight.requests.per.connection"]) == "1"
        )

    @property
    def acks(self) -> str:
        return str(self.properties.get("acks", "all"))

    @property
    def delivery_ms(self) -> int:
        return int(self.properties["delivery.timeout.ms"])


class Facts:
    """The run as the history tells it."""

    def __init__(self, plan: ProducerPlan) -> None:
        self.plan = plan
        self.phase = "chaos"
        self.stable_ms = 0
        self.records: dict[str, Record] = {}
        self.producers: dict[str, Producing] = {}
        self.cuts: dict[TopicPartition, list[tuple[int, int]]] = {}
        """Entries of truncations, and the ends of the log after them, by partition."""
        self.expired: dict[TopicPartition, list[int]] = {}
        """Ends of each log when its producers expired: later duplicates are not detected."""
        self.logs: dict[TopicPartition, list[tuple[int, str]]] = {}
        """Final content of the logs, including aborted records."""
        self.inits: dict[str, list[Init]] = {}
        """Producers of each transactional id, in the order of the responses."""
        self._sent: dict[str, int] = {}
        """Entry of the last send of each record, before the acknowledged append."""
        self._unwatched: set[str] = set()
        """Records that were sent without a callback."""
        self._rows_read: dict[str, list[str]] = {}
        self._asked: dict[str, int] = {}
        self._offset_calls: dict[str, int] = {}

    def see(self, entry: Entry) -> None:
        """Take one entry in, after the rules have seen it."""
        life = life_of(entry.proc)
        if entry.what == "born":
            self.producers[life] = Producing(life, entry.value)
        elif entry.proc == CLUSTER:
            self._of_cluster(entry)
        elif life in self.producers:
            self._of_producer(self.producers[life], entry)

    def _of_cluster(self, entry: Entry) -> None:
        match entry.what:
            case "cut":
                topic, partition, end = entry.value
                self.cuts.setdefault(TopicPartition(topic, partition), []).append((entry.number, end))
            case "expired":
                tp, end = entry.value
                self.expired.setdefault(tp, []).append(end)
            case "heal":
                self.phase = "heal"
            case "stable":
                self.phase, self.stable_ms = entry.what, entry.at_ms
            case "over":
                self.phase = entry.what
            case "log":
                tp, records = entry.value
                self.logs[tp] = [(offset, name) for offset, name in records]

    def _of_producer(self, producer: Producing, entry: Entry) -> None:
        do = {
            ("ok", "send"): self._accepted,
            ("event", "unwatched"): self._sent_without_callback,
            ("invoke", "result"): self._reading,
            ("info", "result"): self._read_failure,
            ("event", "accepted"): self._rows_accepted,
            ("event", "taken-back"): self._rows_taken_back,
            ("event", "sent"): self._sent_again,
            ("event", "told"): self._told,
            ("invoke", "close"): self._closing,
            ("ok", "close"): self._closed,
            ("invoke", "exit"): self._closing,
            ("ok", "exit"): self._closed,
            ("invoke", "init"): self._initialising,
            ("ok", "init"): self._initialised,
            ("invoke", "begin"): self._begun,
            ("info", "begin"): self._not_begun,
            ("invoke", "offsets"): self._sending_offsets,
            ("ok", "offsets"): self._offsets_sent,
            ("info", "offsets"): self._offsets_sent,
            ("invoke", "commit"): self._committing,
            ("ok", "commit"): self._ended,
            ("ok", "abort"): self._ended,
        }.get((entry.kind, entry.what))
        if do is not None:
            do(producer, entry)
        if (
            entry.kind == "info"
            and entry.what != "result"
            and entry.error in ("AbortableTransactionError", "FatalTransactionError")
        ):
            producer.is_aborted_only = entry.error == "AbortableTransactionError"
            producer.erred = entry.number
            producer.is_fatal = producer.is_fatal or entry.error == "FatalTransactionError"

    def _closing(self, producer: Producing, entry: Entry) -> None:
        del entry
        producer.closes += 1

    def _closed(self, producer: Producing, entry: Entry) -> None:
        end = entry.value["transaction"]
        last = producer.transactions[-1] if producer.transactions else None
        if last is not None and not last.end and end in ("committed", "aborted", "open"):
            last.end = "aborted" if end == "open" else end  # in time, by the broker

    def _initialising(self, producer: Producing, entry: Entry) -> None:
        self._asked.setdefault(producer.name, entry.number)

    def _initialised(self, producer: Producing, entry: Entry) -> None:
        init = Init(producer.name, self._asked[producer.name], entry.number)
        self.inits.setdefault(producer.transactional_id, []).append(init)

    def _begun(self, producer: Producing, entry: Entry) -> None:
        del entry
        if not producer.is_aborted_only and not producer.is_fatal:
            producer.transactions.append(Transaction(producer.name, len(producer.transactions) + 1))

    def _not_begun(self, producer: Producing, entry: Entry) -> None:
        del entry
        if producer.transactions and not producer.is_aborted_only and not producer.is_fatal:
            producer.transactions.pop()

    def _sending_offsets(self, producer: Producing, entry: Entry) -> None:
        self._offset_calls[producer.name] = entry.value

    def _committing(self, producer: Producing, entry: Entry) -> None:
        transaction = producer.transactions[-1]
        if transaction.commit_invoked < 0:
            transaction.commit_invoked, transaction.commit_ms = entry.number, entry.at_ms

    def _ended(self, producer: Producing, entry: Entry) -> None:
        producer.transactions[-1].end = ENDS[entry.what]
        producer.is_aborted_only = False

    def _rows_accepted(self, producer: Producing, entry: Entry) -> None:
        for name in entry.value:
            self._accept(producer, name, entry.at_ms)

    def _rows_taken_back(self, producer: Producing, entry: Entry) -> None:
        for name in entry.value:
            record = self.records.pop(name)
            producer.records.remove(record)
            if record.transaction:
                producer.transactions[record.transaction - 1].records.remove(record)

    def _accepted(self, producer: Producing, entry: Entry) -> None:
        self._accept(producer, entry.value, entry.at_ms)
        self.records[entry.value].is_handed = entry.value not in self._unwatched

    def _sent_without_callback(self, producer: Producing, entry: Entry) -> None:
        del producer
        self._unwatched.add(entry.value)

    def _reading(self, producer: Producing, entry: Entry) -> None:
        del producer
        self._rows_read[entry.proc] = entry.value or []

    def _read_failure(self, producer: Producing, entry: Entry) -> None:
        del producer
        rows = [self.records[name] for name in self._rows_read.pop(entry.proc, ()) if name in self.records]
        if all(record.word for record in rows):  # else it has timed out
            for record in rows:
                record.is_handed = True

    def _accept(self, producer: Producing, name: str, at_ms: int) -> None:
        number = len(producer.records)
        transactions = producer.transactions
        record = Record(name, producer.name, number, at_ms, transactions[-1].number if transactions else 0)
        producer.records.append(record)
        self.records[record.name] = record
        if transactions:
            transactions[-1].records.append(record)

    def _sent_again(self, producer: Producing, entry: Entry) -> None:
        del producer
        _, names, *_ = entry.value
        self._sent |= dict.fromkeys(names, entry.number)

    def _told(self, producer: Producing, entry: Entry) -> None:
        del producer
        name, word, error, at, offset, *_ = entry.value
        record = self.records.get(name)
        if record is not None and not record.word:
            record.word, record.error, record.offset = word, error, offset
            record.at = TopicPartition(*at)
            record.reported_ms, record.reported_number = entry.at_ms, entry.number

    def _offsets_sent(self, producer: Producing, entry: Entry) -> None:
        name = producer.name
        client, life = name[1:].split(".")
        transaction = producer.transactions[-1]
        transaction.offset = (int(client) * 1000 + int(life)) * 10_000 + self._offset_calls[name]
        transaction.is_offset_sure = entry.kind == "ok"

    # --- queries of rules ---------------------------------------------------------------------------------------------

    def is_cut(self, record: Record) -> bool:
        """Return whether a log may have lost a record after its last send, while the acknowledgment was in transit."""
        since = self._sent.get(record.name, record.reported_number)
        cuts = self.cuts.get(record.at, ())
        return any(end <= record.offset or record.offset < 0 for number, end in cuts if number > since)

    def is_repeated_unknown(self, found: Sequence[tuple[TopicPartition, int]]) -> bool:
        """Return whether producers expired between the copies of a record."""
        offsets = sorted(offset for _, offset in found)
        return all(
            any(one < end <= other for end in self.expired.get(found[0][0], ())) for one, other in pairwise(offsets)
        )

    def transactions(self) -> list[Transaction]:
        """All of them."""
        return [one for producer in self.producers.values() for one in producer.transactions]
