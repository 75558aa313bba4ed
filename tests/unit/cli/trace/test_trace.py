"""--trace: events as lines, folded into spans, drawn under the API timer."""

from collections.abc import Sequence

from kctl.cli.trace.spans import End, Span, Spans
from kctl.cli.trace.tracer import Tracer, trace_line
from kctl.cli.trace.waterfall import waterfall
from kctl.client.clock import ManualClock
from kctl.client.errors import ConnectionLost
from kctl.client.events import (
    Closed,
    Event,
    Expired,
    Lost,
    Phase,
    Ready,
    RequestAbandoned,
    RequestExpired,
    RequestSent,
    ResponseReceived,
    Started,
    Target,
)

NAME = Target(1, -1, "a.example", 9092, "")
FIRST = NAME._replace(address="10.0.0.1:9092")
SECOND = NAME._replace(address="10.0.0.2:9092")
ERROR = ConnectionLost("gone")


def drawn(spans: Sequence[Span], **of_call: int) -> list[str]:
    return [start + bar for start, bar, _ in waterfall(spans, **of_call)]


def fold(*events: Event) -> list[tuple[str, int, int | None, End]]:
    spans = Spans()
    for event in events:
        spans.on_event(event)
    return [(span.label, span.started_at_ms, span.ended_at_ms, span.end) for span in spans.shown]


def test_a_look_up_and_its_first_address_are_one_span_and_the_second_has_its_own() -> None:
    found = fold(
        Started(0, NAME, Phase.DNS, 1000),
        Started(5, FIRST, Phase.TCP, 1000),
        Started(105, SECOND, Phase.TCP, 1000),
        Ready(110, SECOND, 110),
        Closed(110, FIRST, "another connection attempt succeeded first"),
    )
    assert found == [
        ("connect a.example:9092", 0, 110, End.DROPPED),
        ("connect a.example:9092 [10.0.0.2]", 105, 110, End.DONE),
    ]


def test_requests_end_answered_expired_or_with_their_connection() -> None:
    found = fold(
        RequestSent(0, FIRST, "Metadata", 13, 1, 40),
        RequestSent(1, FIRST, "Fetch", 17, 2, 40),
        RequestSent(2, FIRST, "Fetch", 17, 3, 40),
        ResponseReceived(7, FIRST, "Metadata", 13, 1, 80, 7),
        RequestSent(3, FIRST, "ListOffsets", 10, 4, 40),
        RequestAbandoned(13, FIRST, "ListOffsets", 4, 10),
        RequestExpired(31, FIRST, "Fetch", 2, 30),
        Lost(31, FIRST, ERROR),
    )
    ends = [(End.DONE, 7), (End.EXPIRED, 31), (End.FAILED, 31), (End.EXPIRED, 13)]
    assert [(end, at) for _, _, at, end in found] == ends


def test_an_expired_attempt_is_marked_as_such() -> None:
    found = fold(
        Started(0, NAME, Phase.DNS, 1000),
        Started(0, FIRST, Phase.TCP, 1000),
        Expired(1000, FIRST, Phase.TCP, 1000, 1000, ERROR),
    )
    assert found[0][2:] == (1000, End.EXPIRED)


def test_bars_lie_under_the_api_timer_on_its_scale() -> None:
    spans = Spans()
    for event in (
        RequestSent(0, FIRST, "Metadata", 13, 1, 40),
        RequestExpired(400, FIRST, "Metadata", 1, 400),
        RequestSent(500, FIRST, "Metadata", 13, 2, 40),
        ResponseReceived(999, FIRST, "Metadata", 13, 2, 80, 499),
    ):
        spans.on_event(event)
    lines = drawn(spans.shown, started_at_ms=0, ended_at_ms=1000, limit_ms=5000, width=97)
    assert lines[0].endswith("1000 ms " + "=" * 41)
    assert lines[1].endswith("400 ms expired " + "-" * 16 + "T")
    assert lines[2].endswith("499 ms " + " " * 20 + "-" * 20 + "|")
    assert max(map(len, lines)) <= 97


def test_span_of_request_that_expects_no_response_ends_when_it_is_sent() -> None:
    spans = Spans()
    spans.on_event(RequestSent(5, FIRST, "Produce", 13, 1, 40, expects_response=False))
    assert (spans.shown[0].ended_at_ms, spans.shown[0].end) == (5, End.DONE)


def test_a_narrow_terminal_still_gets_a_bar() -> None:
    spans = Spans()
    spans.on_event(RequestSent(0, FIRST, "Metadata", 13, 1, 40))
    lines = drawn(spans.shown, started_at_ms=0, ended_at_ms=10, limit_ms=10, width=20, more=7)
    assert lines[1].endswith(">")
    assert "and 7 more" in lines


def test_a_line_has_time_direction_node_api_version_id_and_size() -> None:
    sent = RequestSent(112, FIRST, "Metadata", 13, 4, 23)
    assert trace_line(sent, 100) == "     12 ms > a.example:9092 [10.0.0.1]  Metadata v13 #4, 23 bytes"
    got = ResponseReceived(115, FIRST, "Metadata", 13, 4, 80, 3)
    assert trace_line(got, 100) == "     15 ms < a.example:9092 [10.0.0.1]  Metadata v13 #4, 80 bytes after 3 ms"


def test_spans_beyond_the_bound_are_counted_not_kept() -> None:
    spans = Spans(most=2)
    for number in range(5):
        spans.on_event(RequestSent(0, FIRST, "Fetch", 17, number, 40))
    assert (len(spans.shown), spans.not_shown) == (2, 3)


def test_a_tracer_says_each_event_and_then_the_picture() -> None:
    said: list[str] = []
    clock = ManualClock()

    def say(line: str, *, painted: str = "") -> None:
        said.append(line + painted)

    tracer = Tracer(say, clock, lambda text, _: text, limit_ms=1000)
    tracer.on_event(Started(0, NAME, Phase.DNS, 1000))
    clock.advance(5)
    tracer.finish()
    assert said[0].startswith("      0 ms *")
    assert said[1].startswith("api timer, 5 ms of 1s")
