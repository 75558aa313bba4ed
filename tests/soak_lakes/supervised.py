"""A job that is started again whenever it has ended, as a supervisor does, and that can be struck."""

import os
import signal
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from random import Random
from threading import Event, Thread

from botocore.exceptions import BotoCoreError, ClientError

from tests.pipeline.processes import JobProcess, children_of
from tests.support.bounds import bound
from tests.support.kafka.waiting import WaitTimeout, wait_until

PATIENCE_MS = bound(900_000)
"""For a start of Spark and a commit."""
LAST_MS = bound(1_800_000)
"""For what is left after the last blow."""
MOST_STARTS = 12
"""In a row without any progress."""


class Supervised:
    """A job that is started again whenever it has ended."""

    def __init__(self, scratch: Path, arguments: tuple[str, ...], newest_commit: Callable[[], int]) -> None:
        self._scratch = scratch
        self._arguments = arguments
        self._newest_commit = newest_commit
        self._job: JobProcess | None = None
        self.starts = 0
        self.codes: Counter[int] = Counter()
        self.last_code = 0
        self.unexpected: list[str] = []

    def running(self) -> JobProcess:
        """Return the job, started where it is not."""
        if self._job is not None and self._job.process.poll() is not None:
            self._end()
        if self._job is None:
            self.starts += 1
            self._job = JobProcess(self._scratch / str(self.starts), *self._arguments, takes_small_steps=True)
        return self._job

    def ended_with(self) -> tuple[int, str] | None:
        """Return the exit code and what the job has said where it has ended by itself; None while it runs."""
        if self._job is None or self._job.process.poll() is None:
            return None
        said = self._job.said()
        self._end()
        return self.last_code, said

    def wait_for_commit_after(self, before: int) -> None:
        """Wait until there is a newer commit; start the job again if it ends. Args: before: number of a commit."""
        starts = self.starts

        def has_come() -> bool:
            job = self.running()
            assert self.starts - starts < MOST_STARTS, f"it ends each time: {job.said()}"
            return self._newest_commit() > before

        self.wait(has_come, "a commit")

    def wait(self, is_so: Callable[[], bool], what: str) -> None:
        """Wait for something; where it does not come, the error has what the job said."""
        try:
            wait_until(is_so, PATIENCE_MS, what, interval_ms=100)
        except WaitTimeout as e:
            said, pids = self.running().said(), children_of(self.running().process.pid)
            raise AssertionError(f"{e}: {said[-3000:]}; {[_command(pid)[:200] for pid in pids]}") from None

    def kill(self) -> None:
        """Kill the driver; Spark ends by itself."""
        self.running().signal(signal.SIGKILL)
        self._end()

    def kill_worker(self, rng: Random) -> bool:
        """Kill a Python worker of Spark, or what makes them with all of them; return whether there was one."""
        workers = [pid for pid in sorted(children_of(self.running().process.pid)) if "pyspark.daemon" in _command(pid)]
        if workers:
            struck = rng.choice(workers)
            for pid in [struck, *children_of(struck)]:  # without it they would live on as orphans, and not be found
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        return bool(workers)

    def wait_for_end(self) -> None:
        """Wait until it ends by itself."""
        job = self.running()
        wait_until(lambda: job.process.poll() is not None, LAST_MS, "the end of the last run", interval_ms=200)
        self._end()

    def finish(self) -> None:
        """Start it again until it has ended well by itself, at most MOST_STARTS times."""
        for _ in range(MOST_STARTS):
            self.wait_for_end()
            if self.codes[0]:
                break

    def stop(self) -> None:
        """Interrupt it, as Ctrl-C does."""
        if self._job is not None and self._job.process.poll() is None:
            self._job.signal(signal.SIGINT)
        self._end()

    def close(self) -> None:
        """Kill what a test that failed has left running."""
        if self._job is not None:
            self._job.close()

    def _end(self) -> None:
        if self._job is not None:
            code, _ = self._job.ended()
            assert "Traceback" not in self._job.said(), self._job.said()
            assert "which is a bug" not in self._job.said(), self._job.said()
            self.codes[code] += 1
            self.last_code = code
            if code == 1:
                self.unexpected.append(self._job.said().strip()[-400:])
            self._job = None


def _command(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace")
    except OSError:  # it has ended meanwhile
        return ""


@contextmanager
def feeding(produce: Callable[[], None], newest_commit: Callable[[], int]) -> Iterator[None]:
    """Produce after each commit, in a thread, so that a job has work all the time, and no more than it can do."""
    stopping = Event()

    def feed() -> None:
        before: int | None = None
        while not stopping.wait(0.5):
            try:
                newest = newest_commit()
            except (BotoCoreError, ClientError):  # the store is struck
                continue
            if newest != before:
                produce()
                before = newest

    thread = Thread(target=feed)
    thread.start()
    try:
        yield
    finally:
        stopping.set()
        thread.join()
