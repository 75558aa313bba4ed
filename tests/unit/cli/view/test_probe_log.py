"""Probe events as lines and as objects."""

import json

from kctl.cli.exit_codes import ExitCode
from kctl.cli.view.probe_log import Told, event_line, event_object, is_told, summary_object
from kctl.client.events import Closed, Event, RequestSent
from tests.unit.cli.view.scenario import EVENTS, GOOD_V4, START_MS, folded


def _told(event: Event) -> Told:
    assert isinstance(event, Told)
    return event


def test_lines() -> None:
    lines = [event_line(_told(event), START_MS) for event in EVENTS]
    assert lines[0] == "     0 ms  kafka-a.example:9092  dns started, limit 2s"
    assert lines[4] == "     4 ms  kafka-a.example:9092  dns done in 4 ms: 10.0.0.1:9092, [fd00::1]:9092"
    assert "    43 ms  kafka-a.example:9092 [10.0.0.1]  ready after 39 ms" in lines
    assert (
        "     6 ms  10.0.0.2:9092  failed in tcp after 6 ms: connection refused (RST after 1 ms) [phase tcp]" in lines
    )
    assert lines[-1].startswith("  2000 ms  kafka-c.example:9092 [10.0.0.3]  expired in tcp after 1992 ms: no SYN-ACK")
    assert "\x1b" not in "".join(lines)


def test_frames_and_orderly_closes_are_not_told() -> None:
    assert all(is_told(event) for event in EVENTS)
    assert not is_told(Closed(0, GOOD_V4, "lost the race"))
    assert not is_told(RequestSent(0, GOOD_V4, "ApiVersions", 3, 1, 20))


def test_objects() -> None:
    objects = [event_object(_told(event), START_MS) for event in EVENTS]
    assert objects == json.loads(json.dumps(objects))
    assert objects[0] == {
        "event": "started",
        "at_ms": 0,
        "phase": "dns",
        "limit_ms": 2000,
        "attempt": 1,
        "node_id": -1,
        "host": "kafka-a.example",
        "port": 9092,
        "address": None,
    }
    failed = next(o for o in objects if o["event"] == "failed")
    assert failed["error"] == {
        "name": "ConnectionRefused",
        "message": "10.0.0.2:9092: connection refused (RST after 1 ms) [phase tcp]",
    }
    assert {o["event"] for o in objects} == {"started", "phase_done", "ready", "failed", "expired"}


def test_summary() -> None:
    whole = summary_object(folded(), ExitCode.OK)
    assert (whole["event"], whole["ready"], whole["failed"], whole["exit_code"]) == ("summary", 1, 4, 0)
    assert [a["outcome"] for a in whole["addresses"]] == ["ready", "running", "failed", "expired", "failed", "failed"]
    assert whole["addresses"][0]["phases_ms"] == {"dns": 4, "tcp": 3, "tls": 34, "apiversions": 2}
