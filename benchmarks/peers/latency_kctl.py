"""kctl: how long single records take, sent at a rate; ProduceLatency.java is the same for the Java client.

Says ready, then answers each line on standard input with a line of latencies in microseconds, one of each record of a
round. Both take the system's monotonic clock, and both count from the call of send().
"""

import argparse
import json
import struct
import sys
import threading
import time
from functools import partial

from kctl.client import Consumer, Producer, TopicPartition
from kctl.client.producer import SendFuture

SIZE_BYTES = 100
PATIENCE_S = 60
HEAD = struct.Struct(">ii")


class Program:
    """The clients, and one round after the other."""

    def __init__(self, options: argparse.Namespace) -> None:
        self._topic: str = options.topic
        self._records: int = options.records
        self._every_ns = 1_000_000_000 // options.rate
        self._producer = Producer({"bootstrap.servers": options.servers, "linger.ms": options.linger, "acks": "all"})
        self._producer.partitions_for(self._topic)
        self._consumer = _consumer(options.servers, self._topic) if options.mode == "end-to-end" else None
        self._round = 0

    def measure(self) -> list[int]:
        """Send a round and return its latencies in microseconds."""
        self._round += 1
        count, every_ns, now_ns = self._records, self._every_ns, time.perf_counter_ns
        sent_ns, latency_us = [0] * count, [0] * count
        done = threading.Event()
        reader = None
        if self._consumer is not None:
            reader = threading.Thread(target=self._read, args=(self._consumer, sent_ns, latency_us, done))
            reader.start()
        left = [count]
        start_ns = now_ns()
        for number in range(count):
            due_ns = start_ns + number * every_ns
            while (early_ns := due_ns - now_ns()) > 0:
                time.sleep(early_ns / 1e9)
            value = HEAD.pack(self._round, number).ljust(SIZE_BYTES, b"\0")
            callback = partial(self._acknowledged, sent_ns, latency_us, left, done, number)
            sent_ns[number] = now_ns()
            self._producer.send(self._topic, value, callback=callback)
        if not done.wait(PATIENCE_S):
            raise SystemExit("records did not arrive")
        if reader is not None:
            reader.join()
        return latency_us

    def _acknowledged(
        self,
        sent_ns: list[int],
        latency_us: list[int],
        left: list[int],
        done: threading.Event,
        number: int,
        future: SendFuture,
    ) -> None:
        now_ns = time.perf_counter_ns()
        if future.exception(0) is not None or self._consumer is not None:
            return
        latency_us[number] = (now_ns - sent_ns[number]) // 1000
        left[0] -= 1
        if not left[0]:
            done.set()

    def _read(self, consumer: Consumer, sent_ns: list[int], latency_us: list[int], done: threading.Event) -> None:
        left = self._records
        while left:
            for record in consumer.poll(0.1):
                now_ns = time.perf_counter_ns()
                in_round, number = HEAD.unpack_from(record.value or b"")
                if in_round == self._round:
                    latency_us[number] = (now_ns - sent_ns[number]) // 1000
                    left -= 1
        done.set()


def _consumer(servers: str, topic: str) -> Consumer:
    consumer = Consumer({"bootstrap.servers": servers, "enable.auto.commit": False})
    partitions = [TopicPartition(topic, info.partition) for info in consumer.partitions_for(topic)]
    consumer.assign(partitions)
    for partition, end in consumer.end_offsets(partitions).items():
        consumer.seek(partition, end)
    return consumer


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("servers")
    parser.add_argument("topic")
    parser.add_argument("mode", choices=("ack", "end-to-end"))
    parser.add_argument("linger")
    parser.add_argument("records", type=int)
    parser.add_argument("rate", type=int)
    program = Program(parser.parse_args())
    print("ready", flush=True)
    for _ in sys.stdin:
        print(json.dumps(program.measure()), flush=True)


if __name__ == "__main__":
    main()
