"""A topic of numbered records that grows while a test does something to those who read it; written by confluent-kafka.

Owns the writing thread. Partition P has the numbers P, P + partitions, P + 2 x partitions, ... in this order, so offset
and number tell each other.
"""

from threading import Event, Thread
from types import TracebackType
from typing import Self

from confluent_kafka import KafkaError, Message, Producer


class NumberedTopic:
    """Writes numbers into a topic while the block lasts, or until `stop()`.

    Args:
        bootstrap, topic, partitions: where to.
        every_ms: each partition gets a record so often.
    """

    def __init__(self, bootstrap: str, topic: str, partitions: int, every_ms: int = 10) -> None:
        self.topic = topic
        self.partitions = partitions
        self._every_s = every_ms / 1000
        self._producer = Producer({"bootstrap.servers": bootstrap, "enable.idempotence": True, "log_level": 0})
        self._sent = 0
        self._refused: list[str] = []
        self._ends = Event()
        self._thread = Thread(target=self._write)

    def _write(self) -> None:
        while not self._ends.wait(self._every_s):
            for partition in range(self.partitions):
                self._producer.produce(self.topic, b"%d" % self._sent, partition=partition, on_delivery=self._on_end)
                self._sent += 1
            self._producer.poll(0)

    def _on_end(self, error: KafkaError | None, _: Message) -> None:
        if error is not None:
            self._refused.append(str(error))

    def stop(self, timeout_s: float = 60) -> dict[int, int]:
        """Write no more; return the end of each partition when every record is acknowledged.

        Raises: AssertionError: one is not.
        """
        self._ends.set()
        self._thread.join()
        left = self._producer.flush(timeout_s)
        assert (left, self._refused) == (0, [])
        return dict.fromkeys(range(self.partitions), self._sent // self.partitions)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._ends.set()
        self._thread.join()
