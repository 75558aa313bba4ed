"""Partitioner: chooses partitions by the caller's number, the key, or a sticky or round-robin choice.

A sticky choice lasts for a share of about batch.size bytes. Only the network loop uses it.

Source: KIP-480, KIP-794; Java's BuiltInPartitioner and RecordAccumulator. Differs: the partitioner leaves a partition
without a leader immediately, not at the end of its share.
"""

from bisect import bisect_right
from collections.abc import Callable, Sequence
from itertools import accumulate
from random import Random
from typing import NamedTuple

from kctl.client.cluster import NO_NODE, TopicInfo
from kctl.client.config import ProducerConfig
from kctl.client.producer.future import NO_PARTITION
from kctl.client.producer.record import ENCODED_OVERHEAD_BYTES, UNENCODED_BYTES
from kctl.client.producer.record_run import RecordRun

_LOOKS_A_BATCH = 4
"""Number of checks per batch whether a share that has used its bytes ends."""


class QueueState(NamedTuple):
    """Load of a partition.

    Attributes:
        batches: number of batches not in flight.
        bytes: bytes of waiting records.
    """

    batches: int
    bytes: int


class Load(NamedTuple):
    """Functions that return load data.

    Attributes:
        queue: state of a partition's queue; None before its first record.
        waited_ms: time for which a broker has not accepted due data.
        ratio: expected compression ratio of a topic.
    """

    queue: Callable[[str, int], QueueState | None]
    waited_ms: Callable[[int], int]
    ratio: Callable[[str], float] = lambda _: 1.0


class Turn:
    __slots__ = ("left_bytes", "partition", "produced_bytes", "topic")

    def __init__(self, topic: TopicInfo, partition: int, left_bytes: int) -> None:
        self.topic = topic
        """Metadata in which the partition last had a leader."""
        self.partition = partition
        self.left_bytes = left_bytes
        """Bytes until the partitioner chooses again."""
        self.produced_bytes = left_bytes
        """Total bytes of the share when `left_bytes` is used up."""


class Partitioner:
    def __init__(self, config: ProducerConfig, rng: Random, load: Load) -> None:
        self._rng = rng
        self._load = load
        self._ignores_keys = config.partitioner_ignore_keys
        self._is_round_robin = config.partitioner_class == "round_robin"
        self._is_adaptive = config.partitioner_adaptive_partitioning_enable
        self._availability_timeout_ms = config.partitioner_availability_timeout_ms
        self._sticky_bytes = max(config.batch_size, 1)
        self._turns: dict[str, Turn] = {}
        self._drawn_from: dict[str, tuple[list[int], list[int]]] = {}
        """Partitions and cumulative weights by topic, valid for one turn of the loop."""

    def assign(self, run: RecordRun, topic: TopicInfo) -> list[RecordRun]:
        """Return the rows as runs with a partition each; the topic must have a partition."""
        if run.partition != NO_PARTITION:
            return [run]
        if self._is_round_robin:
            return run.by_partition([self._next_in_turn(topic) for _ in range(run.count)])
        if self._ignores_keys or (run.divided is None and (run.encoded is not None or run.rows.keys is None)):
            return self._assign_sticky(run, topic)
        runs = run.by_key(len(topic.partitions))
        if runs is not None:
            return runs
        numbers = run.rows.partitions(run.first, run.end, len(topic.partitions), NO_PARTITION)
        if NO_PARTITION in numbers:
            for at, number in enumerate(numbers):
                if number == NO_PARTITION:
                    row = run.first + at
                    numbers[at] = self._turn_of_rows(run, row, row + 1, topic).partition
        return run.by_partition(numbers)

    def _assign_sticky(self, run: RecordRun, topic: TopicInfo) -> list[RecordRun]:
        """Assign rows to the sticky partition. A run larger than a batch is cut where the choice changes."""
        found = []
        while run.encoded is None and run.size_bytes - UNENCODED_BYTES * run.count > self._turn_bytes(run.topic):
            left_bytes = self._turn(run, run.first, topic).left_bytes
            count = run.rows.count_filling(run.first, run.end, ENCODED_OVERHEAD_BYTES, left_bytes)
            if count == run.count:
                break
            head = run.cut_off(count)
            head.partition = self._turn_of_rows(head, head.first, head.end, topic).partition
            found.append(head)
        run.partition = self._turn_of_rows(run, run.first, run.end, topic).partition
        found.append(run)
        return found

    def _turn_of_rows(self, run: RecordRun, first: int, end: int, topic: TopicInfo) -> Turn:
        turn = self._turn(run, first, topic)
        if end - first == run.count:
            turn.left_bytes -= run.size_bytes - UNENCODED_BYTES * run.count
        else:
            turn.left_bytes -= run.rows.size_bytes(first, end, ENCODED_OVERHEAD_BYTES)
        return turn

    def refresh(self) -> None:
        """Let the next choice compare the queues again, as Java does once per loop iteration."""
        self._drawn_from.clear()

    def forget(self, topic: str) -> None:
        self._turns.pop(topic, None)

    # --- the sticky choice --------------------------------------------------------------------------------------------

    def _turn(self, run: RecordRun, row: int, topic: TopicInfo) -> Turn:
        turn = self._turns.get(run.topic)
        if turn is not None and turn.topic is topic and turn.left_bytes > 0:
            return turn
        if turn is None or not _is_available(topic, turn.partition):
            turn = self._turns[run.topic] = Turn(topic, self._next_partition(topic), self._turn_bytes(run.topic))
        elif turn.left_bytes > 0:
            turn.topic = topic
        elif (more_bytes := self._more_bytes(run, row, turn)) > 0:
            turn.topic = topic
            turn.produced_bytes += more_bytes - turn.left_bytes
            turn.left_bytes = more_bytes
        else:
            turn = self._turns[run.topic] = Turn(topic, self._next_partition(topic), self._turn_bytes(run.topic))
        return turn

    def _more_bytes(self, run: RecordRun, row: int, turn: Turn) -> int:
        """Return the bytes after which to check a used-up share again; 0 if the share ends now.

        A share ends after batch.size bytes if no batch is partly filled, and at the latest after twice as many. Checks
        repeat, because batches may be sent at any time.
        """
        produced_bytes = turn.produced_bytes - turn.left_bytes
        turn_bytes = self._turn_bytes(run.topic)
        beyond_bytes = 2 * turn_bytes - produced_bytes
        state = self._load.queue(run.topic, turn.partition)
        begun_bytes = 0 if state is None else state.bytes % turn_bytes
        room_bytes = turn_bytes - begun_bytes
        if beyond_bytes <= 0 or begun_bytes == 0 or run.encoded is not None:
            return 0
        if run.rows.size_bytes(row, row + 1, ENCODED_OVERHEAD_BYTES) > room_bytes:
            return 0
        return max(1, min(beyond_bytes, room_bytes, turn_bytes // _LOOKS_A_BATCH))

    def _turn_bytes(self, topic: str) -> int:
        return int(self._sticky_bytes / self._load.ratio(topic))

    def _next_partition(self, topic: TopicInfo) -> int:
        found = self._drawn_from.get(topic.name)
        if found is None:
            numbers, weights = self._weights(topic)
            found = self._drawn_from[topic.name] = numbers, list(accumulate(weights or ()))
        numbers, sums = found
        if sums:
            return numbers[bisect_right(sums, self._rng.randrange(sums[-1]))]
        choices = _available(topic)
        return choices[self._rng.randrange(len(choices))]

    def _weights(self, topic: TopicInfo) -> tuple[list[int], list[int] | None]:
        """Return the partitions to choose from and their weights; the weights are None for a uniform choice.

        As in Java, the choice is uniform until every partition had a record.
        """
        if not self._is_adaptive:
            return [], None
        numbers: list[int] = []
        sizes: list[int] = []
        for number, info in topic.partitions.items():
            state = self._load.queue(topic.name, number)
            if state is None:
                return [], None
            if info.leader_id == NO_NODE:
                continue
            if state.batches and 0 < self._availability_timeout_ms < self._load.waited_ms(info.leader_id):
                continue
            numbers.append(number)
            sizes.append(state.batches)
        return numbers, queue_weights(sizes, len(topic.partitions))

    # --- round robin --------------------------------------------------------------------------------------------------

    def _next_in_turn(self, topic: TopicInfo) -> int:
        turn = self._turns.get(topic.name)
        if turn is None:
            turn = self._turns[topic.name] = Turn(topic, self._rng.randrange(len(topic.partitions)), 0)
        choices = _available(topic)
        turn.partition = next((choice for choice in choices if choice > turn.partition), choices[0])
        return turn.partition


def queue_weights(sizes: Sequence[int], partition_count: int) -> list[int] | None:
    """Return weights of the available partitions, from the numbers of their waiting batches; None for a uniform choice.

    The longest queue has weight 1, an empty queue the largest weight. Source: KIP-794, `updatePartitionLoadStats`.
    """
    if not sizes or partition_count < 2:
        return None
    if len(sizes) == partition_count and len(set(sizes)) == 1:
        return None
    longest = max(sizes)
    return [longest + 1 - size for size in sizes]


def _is_available(topic: TopicInfo, partition: int) -> bool:
    info = topic.partitions.get(partition)
    return info is not None and info.leader_id != NO_NODE


def _available(topic: TopicInfo) -> list[int]:
    return [number for number in topic.partitions if _is_available(topic, number)] or list(topic.partitions)


class NodeProgress:
    """Times at which data was last due for each broker, and last accepted by it.

    Source: KIP-794, Java's `NodeLatencyStats`.
    """

    def __init__(self) -> None:
        self._due_at_ms: dict[int, int] = {}
        self._took_at_ms: dict[int, int] = {}

    def note_data(self, node_id: int, now_ms: int) -> None:
        """Record that data is due for a broker that cannot accept it."""
        self._due_at_ms[node_id] = now_ms
        self._took_at_ms.setdefault(node_id, now_ms)

    def took_data(self, node_id: int, now_ms: int) -> None:
        self._due_at_ms[node_id] = self._took_at_ms[node_id] = now_ms

    def waited_ms(self, node_id: int) -> int:
        return self._due_at_ms.get(node_id, 0) - self._took_at_ms.get(node_id, 0)
