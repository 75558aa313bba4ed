"""Delivery of fetched chunks to the application, repeatable until the application has the records.

A poll only looks at what comes next: `PollResult` holds the records and, as `Run`s, where each partition stands after
them. Nothing moves until `PollResult.given` says what has reached the application. So a poll that is interrupted before
it returns (Ctrl-C) is repeated by the next one, and a loop that ends early leaves its rest to the next one.
Shown by tests/unit/consumer/test_fetched_data.py and tests/sim/consumer/test_interrupts.py.
"""

from typing import NamedTuple

from kctl.client.consumer.chunk import FetchedChunk, offset_after
from kctl.client.errors import CorruptBatchError
from kctl.client.records import BatchReader, Record


class Delivery:
    """One chunk on its way to the application, some records at a time.

    Attributes:
        decoded: the next records, which the application does not have yet.
        is_decoded: whether no record comes after those.
    """

    __slots__ = ("_next_offset", "_reader", "chunk", "decoded", "is_decoded")

    def __init__(self, chunk: FetchedChunk) -> None:
        self.chunk = chunk
        self.decoded: list[Record] = []
        self.is_decoded = False
        self._next_offset = chunk.fetch_offset
        self._reader: BatchReader | None = None

    @property
    def epoch(self) -> int:
        return self.chunk.epoch

    def fill(self, limit: int) -> None:
        """Decode until `decoded` has `limit` records or the chunk has no more.

        Raises: CorruptBatchError: what comes next is damaged, and `decoded` is empty.
        """
        while len(self.decoded) < limit and not self.is_decoded:
            try:
                self._decode(limit - len(self.decoded))
            except CorruptBatchError as error:
                if self.decoded:  # they come first; the next call meets the damage again
                    return
                if error.base_offset is not None:
                    error.resume_offset = offset_after(self.chunk.data, error.base_offset)
                raise

    def _decode(self, limit: int) -> None:
        """Decode at most `limit` more records; a reader that was interrupted is opened again where `decoded` ends."""
        reader, self._reader = self._reader, None
        if reader is None:
            reader = self.chunk._replace(fetch_offset=self._next_offset).reader()
        records = reader.records(limit)
        if records:
            self._next_offset = records[-1].offset + 1
            self.decoded = self.decoded + records if self.decoded else records
        self.is_decoded = reader.exhausted
        self._reader = reader


class Run(NamedTuple):
    """The records of a poll that come from one chunk.

    Attributes:
        start, end: where they lie among the records of the poll.
        first_offset: of the first of them.
        next_offset, leader_epoch: the position after them.
        is_last: whether the chunk is used up then.
        rest: records of the chunk that are decoded and not part of the poll.
    """

    delivery: Delivery
    start: int
    end: int
    first_offset: int
    next_offset: int
    leader_epoch: int
    is_last: bool
    rest: list[Record]


class PollResult:
    """What one poll has found for the application.

    Attributes:
        records: in the order of delivery; the caller of poll() may change the list once it has it.
        chunk: instead of records, a chunk undecoded.
        count: how many records, or 1 for a chunk.
        given: how many of them the application has; grows by one record at a time in a loop over the consumer.
        is_one_by_one: whether the records are given in a loop.
    """

    __slots__ = ("chunk", "count", "given", "is_one_by_one", "records", "runs")

    def __init__(self, records: list[Record], runs: list[Run], chunk: FetchedChunk | None = None) -> None:
        self.records = records
        self.runs = runs
        self.chunk = chunk
        self.count = len(records) if chunk is None else 1
        self.given = 0
        self.is_one_by_one = False
