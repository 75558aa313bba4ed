"""Rules S1 to S5: producers send the right batches in order.

Brokers reject most violations, so they would otherwise show only with several faults.

| id | rule |
|---|---|
| S1 sent-after-end | a record reported as delivered or failed is not sent again |
| S2 overtaken | records are sent in the order of send; with ordering, none overtakes a retried one |
| S3 unproven | a broker that may not know the producer's epoch gets one batch only |
| S4 in-flight | no partition has more batches in flight than max.in.flight.requests.per.connection |
| S5 sent-after-close | nothing is sent after a close has returned, including in a callback |
"""

from collections.abc import Iterator

from tests.sim.chaos.checker import Violation, broken
from tests.sim.chaos.history import Entry
from tests.sim.chaos_producer.facts import Facts, Producing, life_of

_Key = tuple[str, int]
"""A producer and a partition."""


class SendingRules:
    """Records in flight, by producer and partition."""

    def __init__(self) -> None:
        self._newest: dict[_Key, int] = {}
        """The number of the newest record that was sent."""
        self._were_sent: dict[str, None] = {}
        self._in_flight: dict[_Key, dict[str, list[str]]] = {}
        """Records of each batch in flight, by first record."""
        self._resting: dict[_Key, dict[str, None]] = {}
        """Records of returned batches that may be sent again, possibly in other batches."""
        self._proven: dict[_Key, list[int]] = {}
        """Producer id and epoch of which a batch was acknowledged."""
        self._epoch: dict[_Key, list[int]] = {}
        self._closed: dict[str, None] = {}

    def see(self, entry: Entry, facts: Facts) -> Iterator[Violation]:
        if entry.what == "close" and entry.kind == "ok":
            self._closed[life_of(entry.proc)] = None
        elif entry.what == "sent":
            if life_of(entry.proc) in self._closed:
                yield broken("S5 sent-after-close", entry, f"{entry.value[0]}: {entry.value[1][0]}")
            yield from self._sent(entry, facts)
        elif entry.what == "judged":
            partition, first, is_acknowledged = entry.value
            key = (life_of(entry.proc), partition)
            names = self._in_flight[key].pop(first, ())  # nothing of a batch whose records are all told
            if is_acknowledged:
                self._proven[key] = self._epoch[key]
            else:
                self._resting[key].update(dict.fromkeys(names))

    def _sent(self, entry: Entry, facts: Facts) -> Iterator[Violation]:
        partition, names, epoch, _ = entry.value
        producer = facts.producers[life_of(entry.proc)]
        key = (producer.name, partition)
        resting = self._resting.setdefault(key, {})
        for name in [*names, *(name for name in resting if facts.records[name].word)]:
            resting.pop(name, None)
        under_way = self._in_flight.setdefault(key, {})
        for first in [first for first, others in under_way.items() if not _open(others, facts)]:
            del under_way[first]
        yield from self._order(entry, key, producer, facts)
        if producer.is_idempotent and under_way and self._proven.get(key) != epoch:
            yield broken("S3 unproven", entry, f"{partition}: {names[0]} behind {next(iter(under_way))}, epoch {epoch}")
        under_way[names[0]] = names
        self._epoch[key] = epoch
        most = int(producer.properties["max.in.flight.requests.per.connection"])
        if len(under_way) > most:
            yield broken("S4 in-flight", entry, f"{partition}: {len(under_way)} batches, and {most} are allowed")

    def _order(self, entry: Entry, key: _Key, producer: Producing, facts: Facts) -> Iterator[Violation]:
        _, names, *_ = entry.value
        ended = [name for name in names if facts.records[name].word in ("ok", "failed")]
        if ended:
            yield broken("S1 sent-after-end", entry, f"{ended[0]} is {facts.records[ended[0]].word}, and is sent")
        for name in [name for name in names if name not in self._were_sent]:
            self._were_sent[name] = None
            number = facts.records[name].number
            if number < self._newest.get(key, -1):
                yield broken("S2 overtaken", entry, f"{key[1]}: {name} is sent for the first time behind a later one")
            self._newest[key] = number
        for name in self._resting[key]:
            if producer.is_ordered and facts.records[name].number < facts.records[names[0]].number:
                yield broken("S2 overtaken", entry, f"{key[1]}: {names[0]} is sent, and {name} is to go again")
                break

    def end(self, facts: Facts) -> Iterator[Violation]:
        del facts
        yield from ()


def _open(names: list[str], facts: Facts) -> bool:
    """Return whether a record of a batch has no result yet."""
    return any(not facts.records[name].word for name in names)
