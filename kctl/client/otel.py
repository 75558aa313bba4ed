"""OpenTelemetry for producers and consumers: spans, W3C trace context in headers, and metrics. Needs the extra `otel`.

    telemetry = Telemetry()  # of the providers that the program has set
    producer = Producer(config, on_send=telemetry.on_send)
    consumer = Consumer(config, on_poll=telemetry.on_poll)
    telemetry.observe(producer, {"client-id": "shop"})
    telemetry.observe(consumer, {"client-id": "billing"})

    for record in consumer:
        with telemetry.process(record):  # continues the trace of the record
            ...

`AsyncProducer` and `AsyncConsumer` have these hooks as well. Names are OpenTelemetry's semantic conventions for
messaging and Kafka.
"""

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any, Protocol
from weakref import ref

from kctl.client.consumer import ConsumerRecord
from kctl.client.producer import OnSent, ProducerMetrics, ProducerRecord, RecordMetadata
from kctl.client.records import Header
from kctl.version import VERSION, install_command

try:
    from opentelemetry import context, metrics, propagate, trace
except ImportError as error:
    raise ImportError(f"kctl.client.otel needs opentelemetry-api: {install_command('otel')}") from error

__all__ = ["HasMetrics", "Telemetry"]

_SCOPE = "kctl.client"
MOST_FIELD_BYTES = 8192
"""Maximum size of one field of a trace context; larger fields are ignored. Source: W3C Baggage, limits."""
MOST_KEY_BYTES = 1024
"""Maximum size of a record key in a span."""
_BLANKS = re.compile(rb"[ \t]+")


class HasMetrics(Protocol):
    """A producer or consumer, synchronous or asynchronous."""

    def metrics(self) -> ProducerMetrics | Mapping[str, float]:
        """Return the metrics."""
        ...


class _HeaderSetter:
    def set(self, carrier: list[Header], key: str, value: str) -> None:
        carrier[:] = [header for header in carrier if header[0] != key]
        carrier.append((key, value.encode()))


class _HeaderGetter:
    """Reads the fields of a trace context from headers, which any producer may write.

    Propagators log rejected fields, and some versions take quadratic time.
    """

    def get(self, carrier: Sequence[Header], key: str) -> list[str] | None:
        values = [value for name, value in carrier if name == key and value]
        if sum(map(len, values)) > MOST_FIELD_BYTES:
            return None
        texts = [_BLANKS.sub(b" ", value).decode("latin-1") for value in values]
        return texts if texts and all(text.isascii() and text.isprintable() for text in texts) else None

    def keys(self, carrier: Sequence[Header]) -> list[str]:
        return [name for name, _ in carrier]


_SETTER: Any = _HeaderSetter()
_GETTER: Any = _HeaderGetter()


class Telemetry:
    """Traces and metrics of the clients that use its hooks; any thread.

    Args:
        tracer_provider, meter_provider: providers of OpenTelemetry; None for those that the program has set.
    """

    def __init__(
        self,
        tracer_provider: "trace.TracerProvider | None" = None,
        meter_provider: "metrics.MeterProvider | None" = None,
    ) -> None:
        self._tracer = trace.get_tracer(_SCOPE, VERSION, tracer_provider)
        self._meter = metrics.get_meter(_SCOPE, VERSION, meter_provider)
        self._sent = self._meter.create_counter(
            "messaging.client.sent.messages", "{message}", "Number of messages producers attempted to send."
        )
        self._consumed = self._meter.create_counter(
            "messaging.client.consumed.messages", "{message}", "Number of messages that were delivered."
        )
        self._observed: list[tuple[ref[HasMetrics], dict[str, str]]] = []
        self._instruments: set[str] = set()

    def on_send(self, record: ProducerRecord) -> tuple[ProducerRecord, OnSent]:
        """Start the span of a record, and write its trace context to the headers; a hook of a producer.

        The parent is the current span or, without one, the span in the headers of a forwarded record.
        """
        headers = list(record.headers or ())
        parent = context.get_current()
        if not trace.get_current_span(parent).get_span_context().is_valid:
            parent = propagate.extract(headers, parent, _GETTER)
        attributes = {**_attributes("send", record.topic), **_content(record.key, record.value)}
        span = self._tracer.start_span(
            f"send {record.topic}", parent, trace.SpanKind.PRODUCER, {**attributes, "messaging.operation.type": "send"}
        )
        propagate.inject(headers, trace.set_span_in_context(span, parent), _SETTER)

        def on_sent(metadata: RecordMetadata | None, error: BaseException | None) -> None:
            counted = _attributes("send", record.topic)
            if metadata is not None:
                span.set_attribute("messaging.destination.partition.id", str(metadata.partition))
                span.set_attribute("messaging.kafka.offset", metadata.offset)
            if error is not None:
                counted["error.type"] = type(error).__qualname__
                span.set_attribute("error.type", counted["error.type"])
                span.set_status(trace.StatusCode.ERROR, str(error))
            span.end()
            self._sent.add(1, counted)

        return record._replace(headers=tuple(headers)), on_sent

    def on_poll(self, records: Sequence[ConsumerRecord]) -> None:
        """Count records by topic; a hook of a consumer."""
        counts: dict[str, int] = {}
        for record in records:
            counts[record.topic] = counts.get(record.topic, 0) + 1
        for topic, count in counts.items():
            self._consumed.add(count, _attributes("poll", topic))

    @contextmanager
    def process(self, record: ConsumerRecord) -> "Iterator[trace.Span]":
        """Run a block in a span that continues the trace of a record; an exception of the block sets its status."""
        found = propagate.extract(record.headers, context.get_current(), _GETTER)
        attributes = {
            **_attributes("process", record.topic),
            **_content(record.key, record.value),
            "messaging.operation.type": "process",
            "messaging.destination.partition.id": str(record.partition),
            "messaging.kafka.offset": record.offset,
        }
        token = context.attach(found)  # its baggage
        try:
            with self._tracer.start_as_current_span(
                f"process {record.topic}", None, trace.SpanKind.CONSUMER, attributes
            ) as span:
                yield span
        finally:
            context.detach(token)

    def observe(self, client: HasMetrics, attributes: Mapping[str, str]) -> None:
        """Export the metrics of a client for as long as it exists.

        `records-lag-max` of a consumer is the gauge `kafka.consumer.records_lag_max`; totals are counters.

        Args: attributes: attributes that distinguish the client, such as {"client-id": "billing"}.
        """
        self._observed = [entry for entry in self._observed if entry[0]() not in (None, client)]
        self._observed.append((ref(client), dict(attributes)))
        for name in _values(client):
            if name in self._instruments:
                continue
            self._instruments.add(name)
            is_total = name.endswith("_total")
            create: Any = self._meter.create_observable_counter if is_total else self._meter.create_observable_gauge
            create(name, [self._reader(name)])

    def _reader(self, name: str) -> "Callable[[metrics.CallbackOptions], list[metrics.Observation]]":
        def read(_: "metrics.CallbackOptions") -> "list[metrics.Observation]":
            found = [(known(), attributes) for known, attributes in self._observed]
            values = [(_values(client).get(name, math.nan), given) for client, given in found if client is not None]
            return [metrics.Observation(value, given) for value, given in values if not math.isnan(value)]

        return read


def _values(client: HasMetrics) -> dict[str, float]:
    found = client.metrics()
    if isinstance(found, ProducerMetrics):
        kind, values = "producer", found.by_kafka_name()
    else:
        kind, values = "consumer", dict(found)
    return {f"kafka.{kind}.{name.replace('-', '_')}": value for name, value in values.items()}


def _attributes(operation: str, topic: str) -> dict[str, str]:
    return {
        "messaging.system": "kafka",
        "messaging.operation.name": operation,
        "messaging.destination.name": topic,
    }


def _content(key: bytes | None, value: bytes | None) -> dict[str, str | int | bool]:
    found: dict[str, str | int | bool] = {}
    if value is None:
        found["messaging.kafka.message.tombstone"] = True
    else:
        found["messaging.message.body.size"] = len(value)
    if key is not None and len(key) <= MOST_KEY_BYTES:
        with suppress(UnicodeDecodeError):
            found["messaging.kafka.message.key"] = key.decode()
    return found
