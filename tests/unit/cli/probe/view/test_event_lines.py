"""Probe events as lines."""

from kctl.cli.probe.view.text import LoggedEvent, event_line, is_logged
from kctl.client.events import Closed, RequestSent
from tests.unit.cli.probe.view.scenario import EVENTS, GOOD, START_MS


def test_lines() -> None:
    assert [event_line(event, START_MS) for event in EVENTS if isinstance(event, LoggedEvent)] == [
        "     0 ms  kafka-a.example:9092  dns started, limit 2s",
        "     4 ms  kafka-a.example:9092  dns done in 4 ms: 10.0.0.1:9092",
        "     4 ms  kafka-a.example:9092 [10.0.0.1]  tcp started, limit 2s",
        "     7 ms  kafka-a.example:9092 [10.0.0.1]  tcp done in 3 ms: 10.0.0.9:40000",
        "     8 ms  10.0.0.2:9092  failed in tcp after 6 ms: connection refused \\x1b[31m",
        "    43 ms  kafka-a.example:9092 [10.0.0.1]  connected after 39 ms",
        "  2000 ms  10.0.0.2:9092  expired in tcp after 1992 ms: no SYN-ACK",
        "  9000 ms  kafka-a.example:9092 [10.0.0.1]  lost: timed out after 3s (--request-timeout) while waiting",
    ]


def test_frames_and_orderly_closes_are_not_told() -> None:
    assert all(is_logged(event) for event in EVENTS)
    assert not is_logged(Closed(0, GOOD, "another connection attempt succeeded first"))
    assert not is_logged(RequestSent(0, GOOD, "ApiVersions", 3, 1, 20))
