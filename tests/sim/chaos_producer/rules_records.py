"""Rules P1 to P8: reports of a producer about its records match the logs.

| id | rule |
|---|---|
| P1 lost-write | acknowledged records are in the log; acks=1 may lose unreplicated records, acks=0 any |
| P2 duplicate | with idempotence, no record is duplicated |
| P3 inconsistent-offsets | a record is at its reported offset for every reader |
| P4 nonmonotonic-send | records of one producer to one partition are in the order of send |
| P5 overtaken | tasks that wait for metadata or memory have their records accepted in the order of their calls |
| P6 failed-is-read | failed records are in no log |
| P7 completed-once | each future completes once, by delivery.timeout.ms to the millisecond, and none is left open |
| P8 altered | key, headers, partition, and timestamp are as sent |
"""

from collections.abc import Iterator
from itertools import pairwise

from kctl.client.cluster import TopicPartition
from tests.sim.chaos.checker import Violation, broken
from tests.sim.chaos.history import Entry
from tests.sim.chaos_producer.facts import Facts, Producing, Record, life_of


class RecordRules:
    """The fate of every record."""

    def __init__(self) -> None:
        self._seen: dict[tuple[int, int], str] = {}
        """Records received by a reader of committed records, by partition and offset."""
        self._is_over = False
        self._sending: dict[str, int] = {}
        """Entry of the current send of each task."""
        self._overtaken: set[str] = set()
        """Tasks whose current send waits, although the record of a later send was accepted."""

    def see(self, entry: Entry, facts: Facts) -> Iterator[Violation]:
        match entry.what:
            case "send" if facts.plan.is_aio:
                yield from self._sent(entry)
            case "told":
                yield from self._told(entry, facts)
            case "gone":
                if entry.value["undone"]:
                    yield broken("P7 completed-once", entry, f"never completed: {entry.value['undone']}")
            case "seen":
                for partition, offset, name in entry.value:
                    yield from self._read(entry, partition, offset, name)
            case "read":
                if entry.value["wrong"]:
                    yield broken("P8 altered", entry, "; ".join(entry.value["wrong"]))
                if entry.value["why_not"]:
                    yield broken("P9 unreadable", entry, f"{entry.value['isolation']}: {entry.value['why_not']}")
                if entry.value["isolation"] == "read_committed":
                    for partition, offset, name in entry.value["records"]:
                        yield from self._read(entry, partition, offset, name)
                else:
                    yield from self._compare(entry, facts)

    def _sent(self, entry: Entry) -> Iterator[Violation]:
        if entry.kind == "invoke":
            self._sending[entry.proc] = entry.number
            return
        began = self._sending.pop(entry.proc)
        if entry.kind == "ok":
            if entry.proc in self._overtaken:
                yield broken("P5 overtaken", entry, f"{entry.value} is accepted after a record of a later call")
            life = life_of(entry.proc)
            self._overtaken |= {
                proc for proc, number in self._sending.items() if number < began and life_of(proc) == life
            }
        self._overtaken.discard(entry.proc)

    def _told(self, entry: Entry, facts: Facts) -> Iterator[Violation]:
        name, word, error, *_ = entry.value
        record = facts.records.get(name)
        if record is None:
            yield broken("P7 completed-once", entry, f"{name} is told of before send has returned")
            return
        if record.word:
            yield broken("P7 completed-once", entry, f"{name} is {word} {error}, and was {record.word} {record.error}")
        limit_ms = facts.producers[life_of(entry.proc)].delivery_ms
        deadline_ms = max(record.accepted_ms + limit_ms, entry.stalled_ms)
        if entry.at_ms > deadline_ms:
            yield broken("P7 completed-once", entry, f"{name}: {entry.at_ms - record.accepted_ms} ms of {limit_ms} ms")
        if error == "DeliveryTimeout" and entry.at_ms < record.accepted_ms + limit_ms:
            yield broken("D2 early", entry, f"{name}: {entry.at_ms - record.accepted_ms} ms of {limit_ms} ms")

    def _read(self, entry: Entry, partition: int, offset: int, name: str) -> Iterator[Violation]:
        before = self._seen.setdefault((partition, offset), name)
        if before != name:
            yield broken("P3 inconsistent-offsets", entry, f"{partition}:{offset} is {name}, and was {before}")

    def _compare(self, entry: Entry, facts: Facts) -> Iterator[Violation]:
        """Compare what a reader of everything has read with the logs."""
        read: dict[int, list[tuple[int, str]]] = {}
        for partition, offset, name in entry.value["records"]:
            read.setdefault(partition, []).append((offset, name))
        for tp, log in facts.logs.items():
            if read.get(tp.partition, []) != log:
                yield broken(
                    "P9 unreadable",
                    entry,
                    f"{tp}: a reader finds {len(read.get(tp.partition, []))} records, the log has {len(log)}",
                )

    def end(self, facts: Facts) -> Iterator[Violation]:
        if not facts.logs:
            return
        where: dict[str, list[tuple[TopicPartition, int]]] = {}
        for tp, log in facts.logs.items():
            for offset, name in log:
                where.setdefault(name, []).append((tp, offset))
        for producer in facts.producers.values():
            for record in producer.records:
                yield from self._fate(record, producer, where.get(record.name, []), facts)
            yield from self._order(producer, facts)
        for (partition, offset), name in self._seen.items():
            found = dict(facts.logs[TopicPartition("t", partition)]).get(offset)
            if found != name:
                yield _at_end("P3 inconsistent-offsets", "reader", f"{partition}:{offset} was {name}, and is {found}")

    def _fate(
        self, record: Record, producer: Producing, found: list[tuple[TopicPartition, int]], facts: Facts
    ) -> Iterator[Violation]:
        name = record.name
        if not record.word:
            yield _at_end("P7 completed-once", producer.name, f"{name} was never told of")
        if record.word == "failed" and found:
            yield _at_end("P6 failed-is-read", producer.name, f"{name}: {record.error}, and it is at {_text(found)}")
        if producer.is_idempotent and len(found) > 1 and not facts.is_repeated_unknown(found):
            yield _at_end("P2 duplicate", producer.name, f"{name} is at {_text(found)}")
        if record.word != "ok" or producer.acks == "0":
            return
        may_be_lost = producer.acks == "1" and facts.is_cut(record)
        if not found and not may_be_lost:
            yield _at_end("P1 lost-write", producer.name, f"{name} was acknowledged at {record.at}:{record.offset}")
        if found and record.offset >= 0 and (record.at, record.offset) not in found and not may_be_lost:
            reported = f"{record.at}:{record.offset}"
            yield _at_end(
                "P3 inconsistent-offsets", producer.name, f"{name}: told {reported}, and is at {_text(found)}"
            )
        if found and any(tp != record.at for tp, _ in found):
            yield _at_end("P3 inconsistent-offsets", producer.name, f"{name}: told {record.at}, is at {_text(found)}")

    def _order(self, producer: Producing, facts: Facts) -> Iterator[Violation]:
        if not producer.is_ordered:
            return
        for tp, log in facts.logs.items():
            if tp in facts.expired:  # a broker that knows nobody takes whichever number comes first
                continue
            numbers = [
                (facts.records[name].number, name)
                for _, name in log
                if name in facts.records and facts.records[name].life == producer.name
            ]
            if not producer.is_idempotent:  # duplicates may be behind later records
                seen: dict[int, str] = {}
                for number, name in numbers:
                    seen.setdefault(number, name)
                numbers = list(seen.items())
            for (one, earlier), (other, later) in pairwise(numbers):
                if one > other:
                    yield _at_end("P4 nonmonotonic-send", producer.name, f"{tp}: {later} is behind {earlier}")
                    break


def _text(found: list[tuple[TopicPartition, int]]) -> str:
    return ", ".join(f"{tp}:{offset}" for tp, offset in found)


def _at_end(rule: str, proc: str, text: str) -> Violation:
    return Violation(rule, -1, -1, proc, text)
