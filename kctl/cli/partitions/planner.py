"""Planner of replicas, which copies as little as possible.

Replicas that may stay are kept. New replicas go to the rack with the fewest replicas of the partition, then to the
broker with the fewest replicas. With `Goal.only`, replicas move from the fullest to the emptiest brokers until counts
differ by at most one. Then leaders are balanced, which copies nothing.
"""

from collections import Counter, defaultdict, deque
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import islice
from typing import NamedTuple

from kctl.client.cluster import TopicPartition
from kctl.client.wording import counted

CANDIDATES = 50
"""Maximum number of topics, and of partitions of a topic, to compare for one move."""

Replicas = tuple[int, ...]
Assignment = Mapping[TopicPartition, Replicas]


class Goal(NamedTuple):
    """Goal of a plan.

    Attributes:
        racks: rack, or None, of each broker that may get replicas.
        leaving: brokers that must not keep a replica.
        only: move all replicas to the brokers in `racks`, and balance them.
        replication_factor: number of replicas; None to leave it unchanged.
    """

    racks: Mapping[int, str | None]
    leaving: Collection[int] = ()
    only: bool = False
    replication_factor: int | None = None

    def keeps(self, broker: int) -> bool:
        return broker in self.racks if self.only else broker not in self.leaving


class NotPossible(Exception):
    """Fewer brokers exist than a partition needs."""


def make_plan(
    current: Assignment, goal: Goal, loads: Mapping[int, int], in_sync: Mapping[TopicPartition, Collection[int]]
) -> dict[TopicPartition, Replicas]:
    """Return the new replicas of partitions that change, preferred leader first.

    Args:
        loads: number of replicas of other partitions by broker.
        in_sync: replicas in sync, which are removed last.
    Raises: NotPossible: there are too few brokers.
    """
    layout = _Layout(goal, {} if goal.only else loads)
    for key in sorted(current):
        layout.settle(key, current[key], in_sync.get(key, current[key]))
    for key in sorted(current):
        layout.fill(key)
    if goal.only:
        for key in sorted(current):
            layout.spread_over_racks(key)
        layout.level_replicas()
        layout.level_leaders()
    placed = layout.placed()
    return {key: placed[key] for key in sorted(current) if placed[key] != current[key]}


def copies_of(current: Assignment, plan: Assignment) -> int:
    return sum(len(set(replicas) - set(current[key])) for key, replicas in plan.items())


_OPEN = -1
"""Placeholder for a replica without a broker."""


class _Layout:
    def __init__(self, goal: Goal, loads: Mapping[int, int]) -> None:
        self._goal = goal
        self._racks = goal.racks
        self._has_racks = all(rack is not None for rack in goal.racks.values())
        self._replicas: dict[TopicPartition, list[int]] = {}
        self._load = Counter({broker: loads.get(broker, 0) for broker in goal.racks})
        self._of_topic: Counter[tuple[int, str]] = Counter()
        self._on: dict[int, dict[str, dict[TopicPartition, None]]] = defaultdict(lambda: defaultdict(dict))
        self._topics: dict[int, deque[str]] = defaultdict(deque)
        self._held: Counter[int] = Counter()
        """Number of replicas by broker, for balancing."""
        self._shut: Counter[tuple[int, str | None]] = Counter()
        """Number of replicas by broker and other rack that cannot move there, because the partition already has a
        replica there.
        """

    def placed(self) -> dict[TopicPartition, Replicas]:
        return {key: tuple(replicas) for key, replicas in self._replicas.items()}

    # --- each partition by itself -----------------------------------------------------------------------------------

    def settle(self, key: TopicPartition, replicas: Replicas, in_sync: Collection[int]) -> None:
        """Keep the replicas that may stay, and mark the remaining places as open."""
        wanted = self._goal.replication_factor or len(replicas)
        places = [each if self._goal.keeps(each) else _OPEN for each in replicas]
        kept = [each for each in places if each != _OPEN]
        for broker in self._surplus(kept, len(kept) - wanted, in_sync):
            places.remove(broker)
        while len(places) > wanted:
            places.remove(_OPEN)
        places += [_OPEN] * (wanted - len(places))
        self._replicas[key] = places
        for broker in places:
            if broker != _OPEN:
                self._count(key, broker)

    def _surplus(self, kept: list[int], count: int, in_sync: Collection[int]) -> list[int]:
        """Return `count` replicas to remove.

        Replicas out of sync are first, then followers, then replicas in shared racks, then those on full brokers.
        """
        gone: list[int] = []
        for _ in range(count):
            left = [each for each in kept if each not in gone]
            racks = Counter(self._racks.get(each) for each in left)
            gone.append(
                max(
                    left,
                    key=lambda each: (
                        each not in in_sync,
                        each != left[0],
                        racks[self._racks.get(each)] if self._has_racks else 0,
                        self._load[each],
                        each,
                    ),
                )
            )
        return gone

    def fill(self, key: TopicPartition) -> None:
        places = self._replicas[key]
        for index, broker in enumerate(places):
            if broker == _OPEN:
                free = [each for each in self._racks if each not in places]
                if not free:
                    raise NotPossible(
                        f"cannot place {len(places)} replicas of {key} on {counted(len(self._racks), 'broker')}"
                    )
                places[index] = self._best(key, free)
                self._count(key, places[index])

    def _best(self, key: TopicPartition, free: Sequence[int]) -> int:
        racks = Counter(self._racks.get(each) for each in self._replicas[key]) if self._has_racks else Counter()
        load, of_topic = self._load, self._of_topic
        return min(free, key=lambda each: (racks[self._racks[each]], load[each], of_topic[each, key.topic], each))

    def spread_over_racks(self, key: TopicPartition) -> None:
        """Move replicas that share a rack to racks without a replica of the partition."""
        if not self._has_racks:
            return
        places = self._replicas[key]
        while True:
            racks = Counter(self._racks[each] for each in places)
            free = [each for each in self._racks if self._racks[each] not in racks]
            shared = [each for each in places if racks[self._racks[each]] > 1]
            if not free or not shared:
                return
            source = max(shared, key=lambda each: (self._load[each], each))
            self._move(key, source, self._best(key, free))

    # --- all of them ------------------------------------------------------------------------------------------------

    def level_replicas(self) -> None:
        """Move replicas until the replica counts of brokers differ by at most one, if possible."""
        for key in sorted(self._replicas):
            for broker in self._replicas[key]:
                if key.topic not in self._on[broker]:
                    self._topics[broker].append(key.topic)
                self._on[broker][key.topic][key] = None
            self._count_racks(key, 1)
        _level(self._load, _Moves(self._movable, self._fits, self._move))

    def _movable(self, source: int, target: int) -> TopicPartition | None:
        """Return a partition that can move, preferably of a topic with more replicas on `source` than on `target`."""
        if self._has_racks and self._shut[source, self._racks[target]] == self._held[source]:
            return None
        topics = self._topics[source]
        best: tuple[int, str, TopicPartition] | None = None
        for looked in range(len(topics)):
            topic = topics[0]
            topics.rotate(-1)
            more = self._of_topic[source, topic] - self._of_topic[target, topic]
            if best is None or more > best[0]:
                key = next(self._fitting(source, target, topic), None)
                best = best if key is None else (more, topic, key)
            if best is not None and looked >= CANDIDATES:
                break
        return None if best is None else best[2]

    def _fitting(self, source: int, target: int, topic: str) -> Iterator[TopicPartition]:
        keys = self._on[source].get(topic, {})
        followers = [key for key in islice(keys, CANDIDATES) if self._replicas[key][0] != source]
        for key in (*followers, *keys):
            if self._fits(key, source, target):
                yield key

    def _fits(self, key: TopicPartition, source: int, target: int) -> bool:
        """Return whether a replica can move to `target`: no duplicate there, and not fewer racks."""
        replicas, racks = self._replicas[key], self._racks
        if target in replicas:
            return False
        if not self._has_racks or racks[source] == racks[target]:
            return True
        others = [racks[each] for each in replicas if each != source]
        return racks[source] in others or racks[target] not in others

    def level_leaders(self) -> None:
        """Reorder replicas until the counts of preferred leaders differ by at most one, if possible."""
        led: defaultdict[tuple[int, int], dict[TopicPartition, None]] = defaultdict(dict)
        """Partitions by leader and follower."""
        counts = Counter(dict.fromkeys(self._racks, 0))
        for key in sorted(self._replicas):
            places = self._replicas[key]
            counts[places[0]] += 1
            for follower in places[1:]:
                led[places[0], follower][key] = None

        def with_replica(source: int, target: int) -> TopicPartition | None:
            return next(iter(led[source, target]), None)

        def lead(key: TopicPartition, source: int, target: int) -> None:
            places = self._replicas[key]
            for follower in places[1:]:
                del led[source, follower][key]
            index = places.index(target)
            places[0], places[index] = target, source
            for follower in places[1:]:
                led[target, follower][key] = None
            counts[source] -= 1
            counts[target] += 1

        _level(counts, _Moves(with_replica, lambda key, _, target: target in self._replicas[key], lead))

    # --- bookkeeping ------------------------------------------------------------------------------------------------

    def _count(self, key: TopicPartition, broker: int, by: int = 1) -> None:
        self._load[broker] += by
        self._of_topic[broker, key.topic] += by

    def _count_racks(self, key: TopicPartition, by: int) -> None:
        """Add a partition to the number of replicas of brokers, and of replicas that cannot move to a rack."""
        racks = Counter(self._racks[each] for each in self._replicas[key])
        for broker in self._replicas[key]:
            rack = self._racks[broker]
            self._held[broker] += by
            if racks[rack] == 1:
                for other in racks.keys() - {rack}:
                    self._shut[broker, other] += by

    def _move(self, key: TopicPartition, source: int, target: int) -> None:
        places = self._replicas[key]
        if self._on:
            self._count_racks(key, -1)
        places[places.index(source)] = target
        self._count(key, source, -1)
        self._count(key, target)
        if self._on:
            self._count_racks(key, 1)
            del self._on[source][key.topic][key]
            if not self._on[target][key.topic]:
                self._topics[target].append(key.topic)
            self._on[target][key.topic][key] = None


class _Moves(NamedTuple):
    find: Callable[[int, int], TopicPartition | None]
    fits: Callable[[TopicPartition, int, int], bool]
    move: Callable[[TopicPartition, int, int], None]


def _level(counts: Counter[int], moves: _Moves) -> None:
    """Move partitions until counts differ by at most one, or no partition can move."""
    barren: defaultdict[int, set[int]] = defaultdict(set)
    """Targets to which nothing can move, by source."""

    def find(source: int, target: int) -> TopicPartition | None:
        key = None if target in barren[source] else moves.find(source, target)
        if key is None:
            barren[source].add(target)
        return key

    while path := next((path for path in _paths(counts, find) if path), None):
        for key, source, target in reversed(path):
            moves.move(key, source, target)
            barren[target] = {each for each in barren[target] if not moves.fits(key, target, each)}


Path = list[tuple[TopicPartition, int, int]]


def _paths(counts: Counter[int], find: Callable[[int, int], TopicPartition | None]) -> Iterator[Path]:
    """Yield paths: moves that shift one partition from a full to an emptier broker, possibly over other brokers."""
    emptiest = sorted(counts, key=lambda each: (counts[each], each))
    stuck: set[int] = set()
    for fullest in sorted(counts, key=lambda each: (-counts[each], each)):
        if counts[fullest] - counts[emptiest[0]] <= 1:
            return
        if fullest not in stuck:
            path, reached = _path_from(fullest, emptiest, counts, find)
            yield path
            stuck |= reached


def _path_from(
    start: int, others: Sequence[int], counts: Counter[int], find: Callable[[int, int], TopicPartition | None]
) -> tuple[Path, set[int]]:
    """Return a path to an emptier broker and an empty set, or an empty path and all reachable brokers."""
    reached: dict[int, Path] = {start: []}
    waiting = deque([start])
    while waiting:
        source = waiting.popleft()
        for target in others:
            if target in reached:
                continue
            key = find(source, target)
            if key is None or any(key == each for each, _, _ in reached[source]):
                continue
            reached[target] = [*reached[source], (key, source, target)]
            if counts[start] - counts[target] > 1:
                return reached[target], set()
            waiting.append(target)
    return [], set(reached)
