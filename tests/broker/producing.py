"""Those who produce numbered records while something is done to the brokers: kctl as a process, and as a library.

Partition P of a topic gets the numbers P, P + PARTITIONS, P + 2 x PARTITIONS, ... in this order. A writer knows of each
number what it was told; `check_log` holds that against what is in the log. Knows nothing of what is done to the
brokers.
"""

import contextlib
import json
import re
import subprocess
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from itertools import pairwise
from pathlib import Path
from threading import Event
from types import TracebackType
from typing import NamedTuple, Self

from kctl.cli.exit_codes import ExitCode
from kctl.client.producer import Producer, SendFuture
from tests.cli.processes import KCTL, environment
from tests.conformance.foreign.record import ForeignRecord
from tests.support.bounds import bound

PARTITIONS = 3
BURST = 12
EVERY_S = 0.04
"""A writer has so many records ready so often: 300 a second, some of them in one batch."""
PATIENCE_S = bound(150)
"""More than delivery.timeout.ms, after which every record's fate is known."""


class ProduceReport(NamedTuple):
    """What a writer was told of the numbers below `sent`: all are acknowledged but those that are `lost`.

    Attributes:
        lost: number to whether it may be written all the same.
        offsets: of those that are acknowledged, where the writer was told that too.
    """

    sent: int
    lost: dict[int, bool]
    offsets: dict[int, int]

    def __str__(self) -> str:
        unknown = sum(self.lost.values())
        return f"{self.sent} records, {len(self.lost) - unknown} told as lost, {unknown} as perhaps written"


def check_log(told: ProduceReport, log: Sequence[ForeignRecord]) -> None:
    """Hold what a topic has, in log order, against what its only writer was told."""
    places: dict[int, int | None] = {}
    for partition in range(PARTITIONS):
        records = [record for record in log if record.partition == partition]
        numbers = [int(record.value or b"") for record in records]
        twice = [number for number, count in Counter(numbers).items() if count > 1]
        assert twice == [], f"partition {partition} has them twice: {twice[:20]}"
        assert _rises(numbers), f"partition {partition} has lost its order"
        assert all(number % PARTITIONS == partition for number in numbers)
        places |= {number: record.offset for number, record in zip(numbers, records, strict=True)}
    missing = [number for number in range(told.sent) if number not in places and number not in told.lost]
    assert missing == [], f"acknowledged and not there: {len(missing)}, {missing[:20]}"
    untrue = [number for number, may_be_written in told.lost.items() if number in places and not may_be_written]
    assert untrue == [], f"told as certainly not written, and there: {untrue[:20]}"
    assert max(places, default=-1) < told.sent
    moved = [number for number, offset in told.offsets.items() if places[number] != offset]
    assert moved == [], f"elsewhere than was told: {moved[:20]}"


def _rises(numbers: Sequence[int]) -> bool:
    return all(before < after for before, after in pairwise(numbers))


class Background:
    """Runs in a thread of its own while the block lasts, or until `finish`; what it raises is raised there."""

    def __init__(self) -> None:
        self.ends = Event()
        self._pool = ThreadPoolExecutor(1)
        self._done: Future[None] | None = None

    def run(self) -> None:
        """Do the work until `ends` is set."""
        raise NotImplementedError  # what is done is the subclass's

    def release(self) -> None:
        """End what `run` could be waiting for, after an error."""

    def finish(self) -> None:
        """Let it end, and return when it has."""
        assert self._done is not None
        self.ends.set()
        self._done.result(PATIENCE_S)

    def __enter__(self) -> Self:
        self._done = self._pool.submit(self.run)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.ends.set()
        self.release()
        self._pool.shutdown()


class CommandRun(Background):
    """`kctl produce` as a process that is fed through a pipe; what is not delivered is in its file `--undelivered`."""

    def __init__(self, folder: Path, bootstrap: str, topic: str, *options: str) -> None:
        super().__init__()
        self.sent = 0
        self._file = folder / f"{topic}.undelivered"
        self._said = folder / f"{topic}.err"
        command = [*KCTL, "produce", topic, "-b", bootstrap, "-f", "%p %v\\n", "--undelivered", str(self._file)]
        with self._said.open("wb") as stderr:
            self._process = subprocess.Popen(
                [*command, *options], stdin=subprocess.PIPE, stderr=stderr, env=environment()
            )

    def run(self) -> None:
        """Feed it."""
        assert self._process.stdin is not None
        while not self.ends.wait(EVERY_S):
            numbers = range(self.sent, self.sent + BURST)
            self._process.stdin.write(b"".join(b"%d %d\n" % (number % PARTITIONS, number) for number in numbers))
            self._process.stdin.flush()
            self.sent += BURST

    def release(self) -> None:
        """Kill it, if it still runs."""
        self._process.kill()
        self._process.wait(PATIENCE_S)
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # what it was fed last has nobody to read it
            self._process.stdin.close()

    def stop(self) -> ProduceReport:
        """Close the pipe, and return what the process told when every record's fate was known."""
        self.finish()
        assert self._process.stdin is not None
        self._process.stdin.close()
        code = self._process.wait(PATIENCE_S)
        said = self._said.read_text()
        lines = self._file.read_bytes().splitlines() if self._file.exists() else []
        kept = [json.loads(line) for line in lines]
        lost = {int(record["value"]): record.get("perhaps_written", False) for record in kept}
        assert len(lost) == len(kept), "kept twice"
        assert code == (ExitCode.UNDELIVERED if lost else ExitCode.OK), said
        assert _delivered(said) == self.sent - len(lost), said
        return ProduceReport(self.sent, lost, {})


def _delivered(said: str) -> int:
    found = re.search(r"^kctl produce: (\d+) records? delivered", said, re.MULTILINE)
    assert found is not None, said
    return int(found[1])


class LibraryRun(Background):
    """A `Producer` with callbacks."""

    def __init__(self, topic: str, properties: dict[str, object]) -> None:
        super().__init__()
        self.sent = 0
        self._topic = topic
        self._producer = Producer(properties)
        self._ended: list[tuple[int, SendFuture]] = []

    def run(self) -> None:
        """Send."""
        while not self.ends.wait(EVERY_S):
            for number in range(self.sent, self.sent + BURST):
                told = partial(self._on_end, number)
                self._producer.send(self._topic, b"%d" % number, partition=number % PARTITIONS, callback=told)
                self.sent += 1

    def _on_end(self, number: int, future: SendFuture) -> None:
        self._ended.append((number, future))

    def release(self) -> None:
        """Close the producer."""
        self._producer.close(0)

    def stop(self) -> ProduceReport:
        """Return what the callbacks and the close told."""
        self.finish()
        result = self._producer.close(PATIENCE_S)
        assert sorted(number for number, _ in self._ended) == list(range(self.sent)), "each future is completed once"
        lost: dict[int, bool] = {}
        offsets: dict[int, int] = {}
        for number, future in self._ended:
            assert future.outcome is not None
            if future.outcome.error is None:
                offsets[number] = future.result(0).offset
            else:
                lost[number] = future.outcome.is_unknown
        unknown = sum(lost.values())
        assert result[:3] == (len(offsets), len(lost) - unknown, unknown)
        return ProduceReport(self.sent, lost, offsets)
