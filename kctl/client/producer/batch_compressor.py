"""BatchCompressor: helper thread that compresses batches while send_columns encodes the next ones.

Runs join their queue uncompressed. The helper wakes the network thread when a batch is compressed. If a batch already
waits for the helper, callers compress their own batches.
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
    def __init__(self, driver: Driver, wakeup: Callable[[], object]) -> None:
        self._driver = driver
        self._wakeup = wakeup
        self._waiting: deque[RecordRun] = deque()
        self._waiter = driver.waiter()
        self._task: Task | None = None
        self._unstarted = [True]
        """One entry; only the thread that pops it starts the helper."""
        self._is_over = self._is_busy = False

    def compress(self, run: RecordRun) -> None:
        if self._is_over or self._waiting or not self._start_helper():
            self._compress(run)
            return
        run.is_compressing = True
        self._waiting.append(run)
        self._waiter.notify()

    def _start_helper(self) -> bool:
        try:
            self._unstarted.pop()
        except IndexError:
            return self._task is not None
        try:
            self._task = self._driver.spawn(self._run, "producer-compressor")
        except RuntimeError:  # the system cannot start another thread
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
            except Exception:  # the network thread meets the same error when it builds the batch
                logger.exception("cannot compress a batch for %s", run.topic)
            run.is_compressing = self._is_busy = False
            self._wakeup()

    def _compress(self, run: RecordRun) -> None:
        assert run.encoded is not None
        run.encoded.compress()

    def stop(self) -> None:
        self._is_over = True
        self._waiter.notify()

    def join(self, timer: Timer) -> None:
        """Wait for the helper to exit. The timer applies only while it compresses a batch."""
        if self._task is not None:
            self._driver.join(self._task, timer.deadline_at_ms if self._is_busy else timer.now_ms + LOOP_GRACE_MS)
