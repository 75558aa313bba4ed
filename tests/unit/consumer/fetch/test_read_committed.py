"""read_committed from fetch to delivery: transactions across fetches, markers, compaction, and positions past them."""

from random import Random
from typing import NamedTuple

import pytest

from kctl.client.consumer.events import Consumed, Fetched, StartFetch
from kctl.client.consumer.fetched_data import FetchedData
from kctl.client.consumer.subscription import Subscription
from kctl.client.protocol.api.fetch import AbortedTransaction, PartitionData
from kctl.client.records import control_batch
from kctl.client.records.batch import TRANSACTIONAL, batch_head
from tests.unit.consumer.fakes import T0, FakeClient, answer, take, take_changes, topic
from tests.unit.consumer.fetch.test_manager import Scenario, asked, brings
from tests.unit.records.handmade import batch, record


class Stored(NamedTuple):
    """A batch of the log: its offsets, and those of the records that read_committed shows."""

    first: int
    last: int
    data: bytes
    shown: tuple[int, ...]


class Aborted(NamedTuple):
    producer_id: int
    first: int
    marker: int


class Log:
    """Three producers, transactions of theirs interleaved, about half aborted; then compacted."""

    def __init__(self, rng: Random, batches: int = 60) -> None:
        self.stored: list[Stored] = []
        self.aborted: list[Aborted] = []
        self.end = 0
        self._open: dict[int, tuple[int, list[int]]] = {}
        """By producer: the first offset of its transaction, and where its batches are in the log."""
        self._rng = rng
        for _ in range(batches):
            producer_id = rng.randint(1, 3)
            if producer_id in self._open and rng.random() < 0.4:
                self._finish(producer_id)
            else:
                self._write(producer_id)
        for producer_id in list(self._open):
            self._finish(producer_id)
        self._compact()

    def _write(self, producer_id: int) -> None:
        count = self._rng.randint(1, 4)
        in_transaction = self._rng.random() < 0.8
        data = batch(
            *(record(number) for number in range(count)),
            base_offset=self.end,
            producer_id=producer_id if in_transaction else -1,
            producer_epoch=0,
            attributes=TRANSACTIONAL if in_transaction else 0,
        )
        if in_transaction:
            self._open.setdefault(producer_id, (self.end, []))[1].append(len(self.stored))
        self._store(data, count, tuple(range(self.end, self.end + count)))

    def _finish(self, producer_id: int) -> None:
        first, written = self._open.pop(producer_id)
        commit = self._rng.random() < 0.5
        if not commit:
            self.aborted.append(Aborted(producer_id, first, self.end))
            for at in written:
                self.stored[at] = self.stored[at]._replace(shown=())
        marker = control_batch(
            producer_id=producer_id, producer_epoch=0, commit=commit, timestamp_ms=5, base_offset=self.end
        )
        self._store(marker, 1, ())

    def _store(self, data: bytes, count: int, shown: tuple[int, ...]) -> None:
        self.stored.append(Stored(self.end, self.end + count - 1, data, shown))
        self.end += count

    def _compact(self) -> None:
        """Empty some batches of committed records, and take some away altogether; the last one stays."""
        kept = []
        for each in self.stored[:-1]:
            fate = self._rng.random() if each.shown else 1.0
            if fate < 0.1:
                continue
            if fate < 0.2:
                empty = batch_head(
                    b"",
                    attributes=0,
                    record_count=0,
                    last_offset_delta=each.last - each.first,
                    base_timestamp_ms=-1,
                    max_timestamp_ms=-1,
                    base_offset=each.first,
                )
                kept.append(each._replace(data=empty, shown=()))
            else:
                kept.append(each)
        self.stored = [*kept, self.stored[-1]]

    @property
    def shown(self) -> list[int]:
        return [offset for each in self.stored for offset in each.shown]

    def read(self, offset: int) -> PartitionData:
        """Some batches from an offset on, the last perhaps cut, with the aborted transactions that touch them."""
        rest = [each for each in self.stored if each.last >= offset]
        some = rest[: self._rng.randint(1, 6)]
        data = b"".join(each.data for each in some)
        if len(rest) > len(some):
            data += rest[len(some)].data[: self._rng.randint(0, 60)]
        end = some[-1].last if some else offset
        aborted = [each for each in self.aborted if each.marker >= offset and each.first <= end]
        return PartitionData(
            partition_index=0,
            high_watermark=self.end,
            last_stable_offset=self.end,
            records=data,
            aborted_transactions=[
                AbortedTransaction(producer_id=each.producer_id, first_offset=each.first) for each in aborted
            ],
        )


@pytest.mark.parametrize("seed", range(20))
def test_exactly_what_was_committed_is_delivered_however_it_is_cut_into_fetches(seed: int) -> None:
    rng = Random(seed)
    log = Log(rng)
    assert log.aborted, "or nothing is shown here"
    scenario = Scenario(FakeClient(topic("t", [1])), isolation_level="read_committed")
    subscription = Subscription()
    subscription.assign([T0])
    subscription.seek(T0, 0)
    released: list[Consumed] = []
    delivered = FetchedData(subscription, released.append)
    [start] = take_changes(subscription, None)
    assert isinstance(start, StartFetch)
    scenario.manager.start(start)
    offsets: list[int] = []
    while subscription.state(T0).position != log.end:
        request = scenario.request()
        [(_, _, offset)] = asked(request)
        answer(request, brings(log.read(offset)))
        for event in scenario.reports.take():
            if isinstance(event, Fetched):
                delivered.add_chunk(event.chunk)
        while delivered.has(T0):
            offsets += [each.offset for each in take(delivered, rng.randint(1, 5))]
        while released:
            scenario.manager.consumed(*released.pop())
    assert offsets == log.shown
    assert scenario.requests() != [], "nothing is held any more"


def test_chunks_without_any_record_move_the_position() -> None:
    subscription = Subscription()
    subscription.assign([T0])
    subscription.seek(T0, 0)
    take_changes(subscription, None)
    released: list[Consumed] = []
    delivered = FetchedData(subscription, released.append)
    scenario = Scenario(FakeClient(topic("t", [1])), isolation_level="read_committed")
    scenario.manager.start(StartFetch(T0, subscription.state(T0).epoch, 0))
    marker = control_batch(producer_id=1, producer_epoch=0, commit=True, timestamp_ms=5, base_offset=7)
    part = PartitionData(partition_index=0, high_watermark=8, last_stable_offset=8, records=marker)
    answer(scenario.request(), brings(part))
    [fetched] = [each for each in scenario.reports.take() if isinstance(each, Fetched)]
    delivered.add_chunk(fetched.chunk)
    assert take(delivered, 10) == []
    assert subscription.state(T0).position == 8
    assert [each.next_offset for each in released] == [8]
