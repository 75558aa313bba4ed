"""Virtual time: a heap of what will happen, seeded order of equal instants, named random sources, a trace.

Time is whole microseconds inside, whole milliseconds outside. Two runs with one seed are equal in every step; their
`trace_hash` says so. It knows nothing of actors, bytes or brokers.
"""

import heapq
from collections.abc import Callable
from hashlib import blake2b
from random import Random
from threading import get_ident

MS = 1_000
"""Microseconds in a millisecond."""
_MASK = 2**64 - 1


class SimulationStuck(Exception):
    """The simulation cannot go on, or does not advance; the text says who waits or spins."""


class Entry:
    """One thing that will happen."""

    __slots__ = ("action", "is_cancelled", "owner")

    def __init__(self, owner: str, action: Callable[[], object]) -> None:
        self.owner = owner
        self.action = action
        self.is_cancelled = False

    def cancel(self) -> None:
        """Call it off; no effect once it has happened. Idempotent."""
        self.is_cancelled = True


def _stable_number(text: str) -> int:
    """Return 64 bits that depend on `text` alone: `hash()` differs from process to process."""
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "little")


def _mixed(number: int) -> int:
    """Return `number` well scrambled: a bijection of 64 bits (the finalizer of splitmix64)."""
    number = (number ^ (number >> 30)) * 0xBF58476D1CE4E5B9 & _MASK
    number = (number ^ (number >> 27)) * 0x94D049BB133111EB & _MASK
    return number ^ (number >> 31)


class Schedule:
    """A clock that jumps to the next entry, and the entries."""

    def __init__(
        self, seed: int = 0, *, keep_trace: bool = False, max_steps: int = 20_000_000, max_steps_at_once: int = 100_000
    ) -> None:
        """Start at instant 0 with nothing to do.

        Args:
            seed: 0 runs entries of one instant in the order of their making; any other draws an order from the seed.
            keep_trace: keep the lines of the trace, not only their hash.
            max_steps: the most steps of the whole run, `max_steps_at_once` of one instant; more is `SimulationStuck`.
        """
        self.seed = seed
        self.now_us = 0
        self.steps = 0
        self.trace_lines: list[str] = []
        self._keep_trace = keep_trace
        self._max_steps = max_steps
        self._max_steps_at_once = max_steps_at_once
        self._steps_at_once = 0
        self._heap: list[tuple[int, int, int, Entry]] = []
        self._made = 0
        self._owners: dict[str, list[int]] = {}
        self._rngs: dict[str, Random] = {}
        self._trace = blake2b(digest_size=16)
        self._thread = get_ident()

    def call_at(self, at_us: int, owner: str, action: Callable[[], object]) -> Entry:
        """Have `action` called at `at_us` (the present if that has passed) in the name of `owner`, a stable name."""
        if get_ident() != self._thread:
            raise RuntimeError(f"{owner}: a second thread touched the simulation; it has room for one")
        entry = Entry(owner, action)
        self._made += 1
        heapq.heappush(self._heap, (max(at_us, self.now_us), self._tiebreak(owner), self._made, entry))
        return entry

    def call_later_ms(self, delay_ms: int, owner: str, action: Callable[[], object]) -> Entry:
        """Have `action` called `delay_ms` from now."""
        return self.call_at(self.now_us + delay_ms * MS, owner, action)

    def _tiebreak(self, owner: str) -> int:
        if self.seed == 0:
            return 0
        state = self._owners.get(owner)
        if state is None:
            state = self._owners[owner] = [_stable_number(f"{self.seed}/{owner}"), 0]
        state[1] += 1
        return _mixed((state[0] + state[1]) & _MASK)

    def next_at_us(self) -> int | None:
        """Return when the next entry is due, None when there is none."""
        while self._heap and self._heap[0][3].is_cancelled:
            heapq.heappop(self._heap)
        return self._heap[0][0] if self._heap else None

    @property
    def pending_owners(self) -> tuple[str, ...]:
        """The names in which something is still to happen, in order."""
        return tuple(sorted({entry.owner for _, _, _, entry in self._heap if not entry.is_cancelled}))

    def step(self) -> bool:
        """Jump to the next entry and run it; False when there is none."""
        at_us = self.next_at_us()
        if at_us is None:
            return False
        entry = heapq.heappop(self._heap)[3]
        if at_us > self.now_us:
            self.now_us = at_us
            self._steps_at_once = 0
        self.count_step(entry.owner)
        self.trace(entry.owner, "runs")
        entry.is_cancelled = True
        entry.action()
        return True

    def count_step(self, owner: str) -> None:
        """Count one step of `owner`, and stop a run that spins.

        Raises:
            SimulationStuck: too many steps in all, or without time moving.
        """
        self.steps += 1
        self._steps_at_once += 1
        if self._steps_at_once > self._max_steps_at_once:
            raise SimulationStuck(f"{self._steps_at_once} steps at {self.now_us} us without time moving; last: {owner}")
        if self.steps > self._max_steps:
            raise SimulationStuck(f"more than {self._max_steps} steps, at {self.now_us} us; last: {owner}")

    def rng(self, name: str) -> Random:
        """Return the chance called `name`: one stream a name, so that no draw shifts another's."""
        rng = self._rngs.get(name)
        if rng is None:
            rng = self._rngs[name] = Random(_stable_number(f"chance/{self.seed}/{name}"))
        return rng

    def trace(self, actor: str, event: str) -> None:
        """Add one line to the trace: who did what at this instant."""
        line = f"{self.now_us} {actor} {event}"
        self._trace.update(line.encode() + b"\n")
        if self._keep_trace:
            self.trace_lines.append(line)

    @property
    def trace_hash(self) -> str:
        """The digest of the trace so far: equal runs have equal ones."""
        return self._trace.hexdigest()
