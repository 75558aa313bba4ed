"""Process records slowly without leaving the group, and stop on SIGTERM after the current record.

While the queue of the worker is full, the consumer pauses its partitions and continues to poll.

python graceful_worker.py SERVERS TOPIC GROUP
"""

import signal
import sys
from collections.abc import Callable
from queue import Queue
from threading import Thread
from types import FrameType

from kctl.client import CloseResult, Consumer, ConsumerRecord, OffsetTracker
from kctl.client.errors import WakeupError

MOST_WAITING = 10


def work_through(queue: Queue[ConsumerRecord | None], tracker: OffsetTracker, work: Callable[[bytes], None]) -> None:
    """Process the records of a queue until it returns None."""
    while (record := queue.get()) is not None:
        work(record.value or b"")
        tracker.done(record)


def run(servers: str, topic: str, group: str, work: Callable[[bytes], None]) -> CloseResult:
    """Process records until a SIGTERM. Return the result of close."""
    config = {
        "bootstrap.servers": servers,
        "group.id": group,
        "enable.auto.offset.store": False,
        "auto.offset.reset": "earliest",
        "max.poll.records": MOST_WAITING,
    }
    consumer = Consumer(config)
    tracker = OffsetTracker()
    queue: Queue[ConsumerRecord | None] = Queue()
    worker = Thread(target=work_through, args=(queue, tracker, work))

    def stop(_signal: int, _frame: FrameType | None) -> None:
        consumer.wakeup()

    before = signal.signal(signal.SIGTERM, stop)
    worker.start()
    try:
        consumer.subscribe([topic], tracker)
        while True:
            (consumer.pause if queue.qsize() >= MOST_WAITING else consumer.resume)(consumer.assignment)
            for record in consumer.poll(timeout=0.2):
                tracker.add(record)
                queue.put(record)
            consumer.store_offsets(tracker.offsets())
    except WakeupError:
        pass  # SIGTERM
    finally:
        queue.put(None)
        worker.join()
        signal.signal(signal.SIGTERM, before)
    consumer.store_offsets(tracker.offsets())
    return consumer.close(timeout=10)


if __name__ == "__main__":
    servers, topic, group = sys.argv[1:]
    print(run(servers, topic, group, print))
