"""Execution of `kctl bench`. --api-timeout limits the whole measurement.

After a timeout or Ctrl-C, the figures so far are printed. Only topics that the command created are deleted.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from enum import Enum
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from kctl.cli.bench.latencies import LatencyHistogram
from kctl.cli.exit_codes import UNCONNECTED, ExitCode
from kctl.cli.failures import CommandError, explain
from kctl.cli.formats.listing import SHAPES, Listing, write_lines, write_listing
from kctl.cli.formats.rows import Row
from kctl.cli.interrupts import Interrupted
from kctl.cli.options import Common
from kctl.cli.output_options import Output
from kctl.cli.produce.pace import Pace
from kctl.cli.setting import Setting
from kctl.cli.uncompiled import note_uncompiled
from kctl.cli.view.status import SendStatus
from kctl.cli.view.status_texts import SendFigures
from kctl.client.admin import BROKER_DEFAULT, Admin, NewTopic
from kctl.client.clock import SystemClock, Timer, duration_text
from kctl.client.cluster import TopicPartition
from kctl.client.config import AdminConfig, ConsumerConfig, ProducerConfig
from kctl.client.errors import FlushTimeout, KafkaError, UndeliveredError
from kctl.client.network.system import system_runtime

if TYPE_CHECKING:
    from kctl.client.consumer import Consumer, ConsumerRecord
    from kctl.client.producer import Producer, SendFuture


class Kind(Enum):
    """What a benchmark measures: a producer, a consumer, or both."""

    PRODUCE = "produce"
    CONSUME = "consume"
    END_TO_END = "end-to-end"


class BenchRequest(NamedTuple):
    """Options of the command line.

    Attributes:
        topic: existing topic; None to create a topic and delete it at the end.
        per_second: maximum records per second; None for no limit.
        partitions: number for a created topic; None for the broker's default.
        replication_factor: number for a created topic; None for the broker's default.
        flags: producer properties that have an option.
    """

    kind: Kind
    records: int
    record_bytes: int
    topic: str | None = None
    per_second: float | None = None
    partitions: int | None = None
    replication_factor: int | None = None
    flags: Mapping[str, Setting | None] = {}


PERCENTS = (50, 95, 99, 99.9)
MEANINGS = {
    Kind.PRODUCE: "time from send() to the acknowledgment",
    Kind.CONSUME: "time of polls that returned records",
    Kind.END_TO_END: "time from send() to the consumer",
}


class Figures(NamedTuple):
    """Measured figures.

    Attributes:
        size_bytes: size of keys and values, uncompressed.
        elapsed_us: time until the last record.
    """

    kind: Kind
    topic: str
    records: int
    size_bytes: int
    elapsed_us: int
    failed: int
    latencies: LatencyHistogram

    @property
    def records_per_second(self) -> float:
        return self.records * 1_000_000 / self.elapsed_us if self.elapsed_us else 0.0

    @property
    def megabytes_per_second(self) -> float:
        return self.size_bytes / self.elapsed_us if self.elapsed_us else 0.0

    def latencies_ms(self) -> dict[str, float | None]:
        found = {f"p{percent}": self.latencies.percentile_us(percent) for percent in PERCENTS}
        found["max"] = self.latencies.longest_us if self.latencies.count else None
        return {name: None if us is None else us / 1000 for name, us in found.items()}


def as_lines(figures: Figures) -> Iterator[str]:
    """Yield a line of at most 40 columns for each figure."""
    yield f"records     {figures.records}"
    if figures.failed:
        yield f"failed      {figures.failed}"
    yield f"bytes       {figures.size_bytes}"
    yield f"time        {figures.elapsed_us / 1_000_000:.3f} s"
    yield f"records/s   {figures.records_per_second:.1f}"
    yield f"MB/s        {figures.megabytes_per_second:.3f}"
    yield "latency"
    yield f"  {MEANINGS[figures.kind]}"
    for name, latency_ms in figures.latencies_ms().items():
        yield f"  {name:<9} {'-' if latency_ms is None else f'{latency_ms:.3f} ms'}"


def as_row(figures: Figures) -> Row:
    return {
        "test": figures.kind.value,
        "topic": figures.topic,
        "records": figures.records,
        "failed": figures.failed,
        "bytes": figures.size_bytes,
        "elapsed_ms": figures.elapsed_us / 1000,
        "records_per_s": round(figures.records_per_second, 3),
        "mb_per_s": round(figures.megabytes_per_second, 6),
        **{f"{name.replace('.', '')}_ms": latency_ms for name, latency_ms in figures.latencies_ms().items()},
    }


_READING = {"auto.offset.reset": "earliest", "allow.auto.create.topics": "false", "enable.auto.commit": "false"}
_NEVER_CREATES: dict[str, Setting | None] = {"allow.auto.create.topics": Setting("false", "kctl bench")}
_POLL_S = 0.1
_MARK_BYTES = 16
_NUMBER_BYTES = 8


def run_bench(common: Common, request: BenchRequest) -> int:
    """Measure, print the figures, and return the exit code."""
    output = common.choose_output(*SHAPES)
    never = {} if request.topic is None else _NEVER_CREATES
    config = common.fail_fast_settings.with_flags({**request.flags, **never}).parse(ProducerConfig)
    common.note_ignored(config)
    with _topic(common, request) as topic:
        bench = _Bench(common, request, config, topic)
        ending: BaseException | None = None
        try:
            try:
                bench.run()
            finally:
                bench.close()
        except (Interrupted, CommandError, KafkaError) as e:
            ending = e
            bench.close()  # Ctrl-C may have interrupted the first close
        figures = bench.figures()
        if figures.records or ending is None:
            _write(common, output, figures)
            note_uncompiled(common)
        if ending is not None:
            raise ending
    return ExitCode.UNDELIVERED if figures.failed else ExitCode.OK


def _write(common: Common, output: Output, figures: Figures) -> None:
    if output is Output.TABLE:
        write_lines(common.environment, as_lines(figures))
        return
    row = as_row(figures)
    write_listing(common.environment, output, Listing("bench", tuple(row), [row]))


@contextmanager
def _topic(common: Common, request: BenchRequest) -> Iterator[str]:
    """Yield the topic name. If the topic is created for this, delete it at the end, even after errors."""
    if request.topic is not None:
        yield request.topic
        return
    name = f"kctl-bench-{system_runtime().entropy.token_bytes(6).hex()}"
    wanted = NewTopic(name, request.partitions or BROKER_DEFAULT, request.replication_factor or BROKER_DEFAULT)
    with Admin(common.fail_fast_settings.parse(AdminConfig), events=common.events) as admin:
        is_there = True
        try:
            try:
                admin.create_topics([wanted]).raise_first()
            except KafkaError as e:
                is_there = explain(e).code not in UNCONNECTED  # no broker received the request
                raise
            yield name
        finally:
            if is_there:
                _delete_surely(common, admin, name)


def _delete_surely(common: Common, admin: Admin, name: str) -> None:
    """Delete the topic. After an interrupt, delete it again and raise Interrupted."""
    try:
        _delete(common, admin, name)
    except Interrupted:
        _delete(common, admin, name)
        raise


def _delete(common: Common, admin: Admin, name: str) -> None:
    try:
        failed = admin.delete_topics([name], timeout=common.close_timeout_s).failed
        error = failed.get(name)
    except KafkaError as e:
        error = e
    if error is not None and getattr(error, "name", "") != "UNKNOWN_TOPIC_OR_PARTITION":
        common.environment.say(f"kctl bench: cannot delete temporary topic {name}: {explain(error).message}")


class _Bench:
    def __init__(self, common: Common, request: BenchRequest, config: ProducerConfig, topic: str) -> None:
        runtime = system_runtime()
        self._common = common
        self._request = request
        self._config = config
        self._topic = topic
        self._clock = SystemClock()
        self._driver = runtime.driver
        self._waiter = runtime.driver.waiter()
        self._mark = runtime.entropy.token_bytes(_MARK_BYTES)
        self._filler = runtime.rng.randbytes(max(0, request.record_bytes))
        self._timer = Timer(self._clock, config.api_timeout_ms)
        self._latencies = LatencyHistogram()
        self._records = 0
        self._size_bytes = 0
        self._failed = 0
        self._first_error: KafkaError | None = None
        self._first_us = 0
        self._last_us = 0
        self._producer: Producer | None = None
        self._consumer: Consumer | None = None

    def run(self) -> None:
        common = self._common
        wanted = not common.quiet and common.tracer is None
        status = SendStatus(common.environment, self._clock, self._driver, self._progress, wanted=wanted)
        try:
            {Kind.PRODUCE: self._produce, Kind.CONSUME: self._consume}.get(self._request.kind, self._end_to_end)()
        finally:
            status.close()

    def _progress(self) -> SendFigures:
        total_bytes = self._request.records * self._request.record_bytes
        return SendFigures(self._records, 0, self._size_bytes, total_bytes)

    def figures(self) -> Figures:
        elapsed_us = max(0, self._last_us - self._first_us)
        return Figures(
            self._request.kind, self._topic, self._records, self._size_bytes, elapsed_us, self._failed, self._latencies
        )

    def close(self) -> None:
        timer = Timer(self._clock, self._common.close_timeout_ms)
        if self._producer is not None:
            self._producer.close(0)
        if self._consumer is not None:
            timer.update()
            self._consumer.close(timer.remaining_ms / 1000)

    # --- produce ------------------------------------------------------------------------------------------------------

    def _produce(self) -> None:
        producer = self._producer = self._new_producer()
        producer.partitions_for(self._topic, self._remaining_s())  # metadata is not measured
        value, clock = self._filler, self._clock
        pace = self._pace()
        self._first_us = clock.now_us()
        for _ in range(self._request.records):
            self._check_time()
            if pace is not None:
                self._driver.wait(self._waiter, min(pace.reserve(clock.now_ms()), self._timer.deadline_at_ms))
            producer.send(self._topic, value, callback=partial(self._acknowledged, clock.now_us()))
        self._flush(producer)

    def _acknowledged(self, sent_us: int, future: "SendFuture") -> None:
        now_us = self._clock.now_us()
        error = future.exception(0)
        if error is not None:
            self._failed += 1
            self._first_error = self._first_error or error
            return
        self._latencies.add(now_us - sent_us)
        self._records += 1
        self._size_bytes += len(future.value or b"")
        self._last_us = now_us

    def _flush(self, producer: "Producer") -> None:
        try:
            producer.flush(self._remaining_s())
        except FlushTimeout:
            raise self._timed_out() from None
        self._report_undelivered()

    def _report_undelivered(self) -> None:
        if self._first_error is not None:
            self._common.environment.say_failure(explain(self._undelivered(self._first_error)))

    def _undelivered(self, first: KafkaError) -> UndeliveredError:
        return UndeliveredError(self._failed, first)

    # --- consume ------------------------------------------------------------------------------------------------------

    def _count(self, records: "Sequence[ConsumerRecord]") -> None:
        for record in records[: self._request.records - self._records]:
            self._records += 1
            self._size_bytes += len(record.key or b"") + len(record.value or b"")

    def _consume(self) -> None:
        if self._request.topic is None:
            self._fill()
        consumer = self._consumer = self._new_consumer()
        ends = consumer.end_offsets(self._partitions(consumer), self._remaining_s())
        consumer.assign(ends)
        left = {tp: end for tp, end in ends.items() if end > 0}
        self._first_us = self._last_us = self._clock.now_us()
        while self._records < self._request.records and left:
            self._check_time()
            asked_us = self._clock.now_us()
            records = consumer.poll(min(_POLL_S, self._remaining_s()))
            now_us = self._clock.now_us()
            if records:
                self._count(records)
                self._latencies.add(now_us - asked_us)
                self._last_us = now_us
            for tp in [tp for tp, end in left.items() if consumer.position(tp, self._remaining_s()) >= end]:
                del left[tp]

    def _fill(self) -> None:
        producer = self._producer = self._new_producer()
        for _ in range(self._request.records):
            self._check_time()
            producer.send(self._topic, self._filler)
        self._flush(producer)

    # --- end to end ---------------------------------------------------------------------------------------------------

    def _end_to_end(self) -> None:
        producer = self._producer = self._new_producer()
        producer.partitions_for(self._topic, self._remaining_s())
        consumer = self._consumer = self._new_consumer()
        partitions = self._partitions(consumer)
        consumer.assign(partitions)
        for tp, end in consumer.end_offsets(partitions, self._remaining_s()).items():
            consumer.seek(tp, end)
        pace, clock = self._pace(), self._clock
        waiting: dict[int, int] = {}
        sent = 0
        due_at_ms = 0 if pace is None else pace.reserve(clock.now_ms())
        self._first_us = self._last_us = clock.now_us()
        while sent < self._request.records or waiting:
            self._check_time()
            may_send = sent < self._request.records and (not waiting if pace is None else clock.now_ms() >= due_at_ms)
            if may_send:
                waiting[sent] = clock.now_us()
                producer.send(self._topic, self._marked(sent), callback=partial(self._sent_marked, waiting, sent))
                sent += 1
                due_at_ms = 0 if pace is None else pace.reserve(clock.now_ms())
            until_due_ms = (
                max(0, due_at_ms - clock.now_ms()) if pace is not None and sent < self._request.records else 100
            )
            self._receive(consumer, waiting, min(_POLL_S, until_due_ms / 1000, self._remaining_s()))
        self._report_undelivered()

    def _sent_marked(self, waiting: dict[int, int], number: int, future: "SendFuture") -> None:
        error = future.exception(0)
        if error is not None and waiting.pop(number, None) is not None:
            self._failed += 1
            self._first_error = self._first_error or error

    def _receive(self, consumer: "Consumer", waiting: dict[int, int], timeout_s: float) -> None:
        for record in consumer.poll(timeout_s):
            now_us = self._clock.now_us()
            value = record.value or b""
            if not value.startswith(self._mark):
                continue  # record of another producer
            number = int.from_bytes(value[_MARK_BYTES : _MARK_BYTES + _NUMBER_BYTES], "big")
            sent_us = waiting.pop(number, None)
            if sent_us is None:
                continue
            self._latencies.add(now_us - sent_us)
            self._records += 1
            self._size_bytes += len(value)
            self._last_us = now_us

    def _marked(self, number: int) -> bytes:
        head = self._mark + number.to_bytes(_NUMBER_BYTES, "big")
        return head + self._filler[len(head) :]

    # --- what they share ----------------------------------------------------------------------------------------------

    def _new_producer(self) -> "Producer":
        from kctl.client.producer import Producer  # deferred import: some measurements do not need it

        return Producer(self._config, events=self._common.events)

    def _new_consumer(self) -> "Consumer":
        from kctl.client.consumer import PREFETCH_BYTES, Consumer  # deferred import: some measurements do not need it

        config = self._common.fail_fast_settings.with_defaults(_READING).parse(ConsumerConfig)
        return Consumer(config, events=self._common.events, max_decompressed_bytes=PREFETCH_BYTES)

    def _partitions(self, consumer: "Consumer") -> list[TopicPartition]:
        found = consumer.partitions_for(self._topic, self._remaining_s())
        return [TopicPartition(self._topic, info.partition) for info in found]

    def _pace(self) -> Pace | None:
        per_second = self._request.per_second
        return None if per_second is None else Pace(per_second, self._clock.now_ms())

    def _remaining_s(self) -> float:
        self._timer.update()
        return self._timer.remaining_ms / 1000

    def _check_time(self) -> None:
        self._timer.update()
        if self._timer.is_expired:
            raise self._timed_out()

    def _timed_out(self) -> CommandError:
        return CommandError(
            ExitCode.API_TIMEOUT,
            f"timed out after {duration_text(self._timer.timeout_ms)} (--api-timeout): measured {self._records} of "
            f"{self._request.records} records",
            "raise --api-timeout, which limits the whole measurement",
            () if self._first_error is None else (explain(self._undelivered(self._first_error)).message,),
        )
