"""Telemetry with the SDK of OpenTelemetry: spans, trace context in headers, and metrics."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from opentelemetry import baggage, context, trace
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from kctl.client.errors import DeliveryTimeout
from kctl.client.otel import Telemetry
from kctl.client.producer import ProducerRecord, RecordMetadata
from kctl.client.producer.metrics import ProducerCounters, ProducerMetrics
from kctl.testing import record

TRACE_ID, SPAN_ID = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
REMOTE = f"00-{TRACE_ID}-{SPAN_ID}-01"


class Observed:
    """Telemetry, and what it has exported."""

    def __init__(self) -> None:
        self._exporter = InMemorySpanExporter()
        self._reader = InMemoryMetricReader()
        self.tracers = TracerProvider()
        self.tracers.add_span_processor(SimpleSpanProcessor(self._exporter))
        self.meters = MeterProvider([self._reader])
        self.telemetry = Telemetry(self.tracers, self.meters)

    def spans(self) -> list[ReadableSpan]:
        """Return the spans that have ended."""
        return list(self._exporter.get_finished_spans())

    def points(self) -> dict[str, list[tuple[float, dict[str, Any]]]]:
        """Return the present values and attributes of each metric."""
        data: Any = self._reader.get_metrics_data()
        found = [] if data is None else data.resource_metrics[0].scope_metrics[0].metrics
        return {one.name: [(at.value, dict(at.attributes)) for at in one.data.data_points] for one in found}


@pytest.fixture
def observed() -> Iterator[Observed]:
    made = Observed()
    yield made
    made.tracers.shutdown()
    made.meters.shutdown()


def context_of(header: bytes | None) -> tuple[str, str]:
    """Return the ids of trace and span of a traceparent."""
    assert header is not None
    _, trace_id, span_id, _ = header.decode().split("-")
    return trace_id, span_id


def ids(span: ReadableSpan) -> tuple[str, str]:
    found = span.get_span_context()
    assert found is not None
    return f"{found.trace_id:032x}", f"{found.span_id:016x}"


def test_record_carries_the_context_of_its_span_which_ends_with_its_result(observed: Observed) -> None:
    with observed.tracers.get_tracer("app").start_as_current_span("order"):
        sent, on_sent = observed.telemetry.on_send(
            ProducerRecord("orders", b"2 apples", b"ann", headers=(("h", b"1"),))
        )
    assert sent[:4] == ("orders", b"2 apples", b"ann", None)
    (kept, (name, traceparent)) = sent.headers or ()
    assert (kept, name) == (("h", b"1"), "traceparent")
    (parent,) = observed.spans()
    on_sent(RecordMetadata("orders", 2, 7, 5), None)
    span = observed.spans()[1]
    assert context_of(traceparent) == ids(span)
    assert ids(span)[0] == ids(parent)[0]
    assert span.parent is not None
    assert f"{span.parent.span_id:016x}" == ids(parent)[1]
    assert (span.name, span.kind, span.status.is_ok) == ("send orders", trace.SpanKind.PRODUCER, True)
    assert dict(span.attributes or {}) == {
        "messaging.system": "kafka",
        "messaging.operation.name": "send",
        "messaging.operation.type": "send",
        "messaging.destination.name": "orders",
        "messaging.destination.partition.id": "2",
        "messaging.kafka.offset": 7,
        "messaging.kafka.message.key": "ann",
        "messaging.message.body.size": 8,
    }


def test_failed_record_has_a_failed_span_and_is_counted_by_error(observed: Observed) -> None:
    _, on_sent = observed.telemetry.on_send(ProducerRecord("orders", None, b"\xff"))
    on_sent(None, DeliveryTimeout("no leader", timeout_ms=5, elapsed_ms=5))
    (span,) = observed.spans()
    assert span.status.status_code is trace.StatusCode.ERROR
    attributes = dict(span.attributes or {})
    assert attributes["error.type"] == "DeliveryTimeout"
    assert attributes["messaging.kafka.message.tombstone"] is True
    assert not {"messaging.kafka.message.key", "messaging.message.body.size"} & attributes.keys()
    _, on_sent = observed.telemetry.on_send(ProducerRecord("orders", b"v"))
    on_sent(RecordMetadata("orders", 0, 0, 0), None)
    counted = observed.points()["messaging.client.sent.messages"]
    assert sorted((value, attributes.get("error.type", "")) for value, attributes in counted) == [
        (1, ""),
        (1, "DeliveryTimeout"),
    ]


def test_record_that_is_passed_on_without_a_span_stays_in_its_trace(observed: Observed) -> None:
    given = ProducerRecord("copies", b"v", headers=(("traceparent", REMOTE.encode()), ("h", None)))
    sent, on_sent = observed.telemetry.on_send(given)
    on_sent(RecordMetadata("copies", 0, 0, 0), None)
    (span,) = observed.spans()
    assert span.parent is not None
    assert (ids(span)[0], f"{span.parent.span_id:016x}") == (TRACE_ID, SPAN_ID)
    assert [name for name, _ in sent.headers or ()] == ["h", "traceparent"], "the header is replaced"


def test_block_that_processes_a_record_is_in_its_trace_and_has_its_baggage(observed: Observed) -> None:
    read = record("2 apples", topic="orders", partition=3, offset=9, headers={"traceparent": REMOTE, "baggage": "t=x"})
    before = context.get_current()
    with observed.telemetry.process(read) as span:
        assert trace.get_current_span() is span
        assert baggage.get_baggage("t") == "x"
    assert context.get_current() == before
    (ended,) = observed.spans()
    assert ended.parent is not None
    assert (ids(ended)[0], f"{ended.parent.span_id:016x}") == (TRACE_ID, SPAN_ID)
    assert (ended.name, ended.kind) == ("process orders", trace.SpanKind.CONSUMER)
    assert dict(ended.attributes or {}).items() >= {
        ("messaging.destination.partition.id", "3"),
        ("messaging.kafka.offset", 9),
        ("messaging.operation.type", "process"),
    }


@pytest.mark.parametrize("header", [b"\xff", b"", b"00-0-0-00", None])
def test_damaged_trace_context_begins_a_trace(observed: Observed, header: bytes | None) -> None:
    with pytest.raises(LookupError), observed.telemetry.process(record("v", headers={"traceparent": header})):
        raise LookupError("no such order")
    (span,) = observed.spans()
    assert span.parent is None
    assert span.status.status_code is trace.StatusCode.ERROR


@pytest.mark.parametrize("name", ["tracestate", "baggage", "traceparent"])
@pytest.mark.parametrize(
    "field",
    [b"a=b\x1b[31m\nhint: x", b"a=b\x9b", b"a" * 100_000, b" " * 100_000, b"a=b," * 30_000],
    ids=["controls", "other bytes", "long", "blank", "many"],
)
def test_field_of_a_stranger_is_neither_kept_nor_logged(
    observed: Observed, caplog: pytest.LogCaptureFixture, name: str, field: bytes
) -> None:
    headers = [*([] if name == "traceparent" else [("traceparent", REMOTE.encode())]), (name, field)]
    with observed.telemetry.process(record(b"v", headers=headers)) as span:
        assert baggage.get_all() == {}
        assert not span.get_span_context().trace_state
    assert (ids(observed.spans()[0])[0] == TRACE_ID) == (name != "traceparent")
    for each in caplog.records:
        assert each.getMessage().isprintable()
        assert len(each.getMessage()) < 1000


def test_fields_of_many_headers_are_bounded_together(observed: Observed) -> None:
    headers = [("traceparent", REMOTE.encode()), *[("tracestate", b"a%d=b" % number) for number in range(10_000)]]
    with observed.telemetry.process(record(b"v", headers=headers)) as span:
        assert not span.get_span_context().trace_state


def test_blanks_of_a_list_are_one_blank(observed: Observed) -> None:
    headers = [("baggage", b"a=1" + b" " * 4000 + b",  b=2")]
    with observed.telemetry.process(record(b"v", headers=headers)):
        assert baggage.get_all() == {"a": "1", "b": "2"}


def test_large_key_is_not_kept_in_a_span(observed: Observed) -> None:
    for key in (b"k" * 1024, b"k" * 1025):
        with observed.telemetry.process(record(b"v", key=key)):
            pass
    small, large = (dict(span.attributes or {}) for span in observed.spans())
    assert "messaging.kafka.message.key" in small
    assert "messaging.kafka.message.key" not in large


def test_polled_records_are_counted_by_topic(observed: Observed) -> None:
    observed.telemetry.on_poll([record("1", topic="a"), record("2", topic="b"), record("3", topic="a")])
    counted = observed.points()["messaging.client.consumed.messages"]
    assert sorted((value, attributes["messaging.destination.name"]) for value, attributes in counted) == [
        (1, "b"),
        (2, "a"),
    ]


class Client:
    """A client with metrics."""

    def __init__(self, read: Callable[[], ProducerMetrics | dict[str, float]]) -> None:
        self.metrics = read


def test_metrics_of_clients_are_exported_until_the_clients_are_gone(
    observed: Observed, caplog: pytest.LogCaptureFixture
) -> None:
    values = {"records-consumed-total": 5.0, "records-lag-max": float("nan")}
    consumer, other = Client(lambda: values), Client(lambda: {"records-consumed-total": 1.0})
    counters = ProducerCounters()
    counters.first_sending(counters.of_topic("t"), 4, 100, 200, 3)
    producer = Client(lambda: counters.snapshot(outstanding=0, buffer_used_bytes=10, buffer_total_bytes=50))
    for name, client in (("a", consumer), ("b", other), ("p", producer)):
        observed.telemetry.observe(client, {"client-id": name})
    found = observed.points()
    assert sorted(found["kafka.consumer.records_consumed_total"], key=str) == [
        (1, {"client-id": "b"}),
        (5, {"client-id": "a"}),
    ]
    assert "kafka.consumer.records_lag_max" not in found, "without a measurement"
    assert caplog.records == [], "the SDK warns of values that are not finite"
    assert found["kafka.producer.record_send_total"] == [(4, {"client-id": "p"})]
    assert found["kafka.producer.buffer_available_bytes"] == [(40, {"client-id": "p"})]
    values["records-lag-max"] = 3.0
    del other
    found = observed.points()
    assert found["kafka.consumer.records_lag_max"] == [(3, {"client-id": "a"})]
    assert found["kafka.consumer.records_consumed_total"] == [(5, {"client-id": "a"})]
