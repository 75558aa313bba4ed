"""BatchCompressor: a helper thread that compresses batches while the caller of send_columns encodes the next ones.

A run joins the queue of its partition at once, so that order, deadlines and memory are those of every other; its batch
is due when it is compressed (partition_queue.py), which the helper reports by waking the network thread. One batch
waits for the helper (one of each sender, where several send at the same moment): the caller compresses the next one
itself, so that both threads have work, and what waits is bounded. Codecs release Python's lock meanwhile.
"""

import logging
from collections import deque
from collections.abc import Callable

from kctl.client.clock import FOREVER_MS, Timer
from kctl.client.loop.mailbox import LOOP_GRACE_MS
from kctl.client.producer.record_run import RecordRun
from kctl.client.runtime import Driver, Task

logger = logging.getLogger(__name__)


class BatchCompressor:
    """The helper of one producer, started by its first batch; senders on any thread.

    Args: wakeup: lets the network thread look at its queues.
    """

    def __init__(self, driver: Driver, wakeup: Callable[[], object]) -> None:
        self._driver = driver
        self._wakeup = wakeup
        self._waiting: deque[RecordRun] = deque()
        self._waiter = driver.waiter()
        self._task: Task | None = None
        self._unstarted = [True]
        """Popped by the sender that starts the helper: others that come meanwhile must not start a second one."""
        self._is_over = self._is_busy = False

    def compress(self, run: RecordRun) -> None:
        """Compress an encoded run, here or soon on the helper."""
        if self._is_over or self._waiting or not self._start_helper():
            self._compress(run)
            return
        run.is_compressing = True
        self._waiting.append(run)
        self._waiter.notify()

    def _start_helper(self) -> bool:
        """Start the helper unless it was started before; return whether there is one."""
        try:
            self._unstarted.pop()
        except IndexError:
            return self._task is not None
        try:
            self._task = self._driver.spawn(self._run, "producer-compressor")
        except RuntimeError:  # the system has no thread left
            self._unstarted.append(True)
            return False
        return True

    def _run(self) -> None:
        while not self._is_over:
            if not self._waiting:
                self._driver.wait(self._waiter, FOREVER_MS)
                continue
            run = self._waiting.popleft()
            self._is_busy = True
            try:
                self._compress(run)
            except Exception:  # the network thread meets it again where it builds the batch
                logger.exception("a batch for %s could not be compressed", run.topic)
            run.is_compressing = self._is_busy = False
            self._wakeup()

    def _compress(self, run: RecordRun) -> None:
        assert run.encoded is not None
        run.encoded.compress()

    def stop(self) -> None:
        """Let the helper exit after the batch in its hands; any thread."""
        self._is_over = True
        self._waiter.notify()

    def join(self, timer: Timer) -> None:
        """Wait until the helper has exited: up to the deadline for a batch in its hands, else it takes no time."""
        if self._task is not None:
            self._driver.join(self._task, timer.deadline_at_ms if self._is_busy else timer.now_ms + LOOP_GRACE_MS)
