"""Sequences: what makes a repeated batch recognisable, per partition.

A producer id belongs to the whole producer; epoch and next sequence are kept for each partition, so that a gap in one
partition (a batch given up whose fate is unknown) starts a new epoch there and nowhere else. Pure.
Shown by tests/unit/producer/test_sequences.py.

Source: KIP-98, KIP-360.
"""

MAX_EPOCH = 2**15 - 1
SEQUENCES = 2**31
"""Sequence numbers run from 0 to 2**31 - 1 and start over."""
NO_PRODUCER_ID = -1


class PartitionSequence:
    """Epoch and next sequence of one partition under one producer id.

    Attributes: `is_proven`: a batch of this epoch was acknowledged. Until then the broker may know nothing of the
        producer and would take whichever sequence comes first, so only one batch may be on its way.
    """

    __slots__ = ("epoch", "is_proven", "next_sequence", "producer_id")

    def __init__(self) -> None:
        self.producer_id = NO_PRODUCER_ID
        self.epoch = -1
        self.next_sequence = 0
        self.is_proven = False

    def adopt(self, producer_id: int, epoch: int) -> None:
        """Start under a (new) producer id."""
        self.producer_id = producer_id
        self.epoch = epoch
        self.next_sequence = 0
        self.is_proven = False

    def take(self, record_count: int) -> int:
        """Return the sequence of the first of `record_count` records, and move on."""
        first = self.next_sequence
        self.next_sequence = plus(first, record_count)
        return first

    def give_back(self, base_sequence: int) -> None:
        """Undo `take` for the last batches, which were certainly not written."""
        self.next_sequence = base_sequence

    def start_anew(self) -> None:
        """Leave a gap behind: raise the epoch and count from 0."""
        self.epoch += 1
        self.next_sequence = 0
        self.is_proven = False

    @property
    def is_used_up(self) -> bool:
        """Whether the epochs of the producer id are used up: the partition needs a new one."""
        return self.epoch > MAX_EPOCH


def plus(sequence: int, count: int) -> int:
    """Return the sequence `count` records later."""
    return (sequence + count) % SEQUENCES
