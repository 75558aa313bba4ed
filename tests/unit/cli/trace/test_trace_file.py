"""--trace-file: every event as an object, held to the schema that is checked in."""

import json
from pathlib import Path
from typing import Any, get_args

import jsonschema
import pytest

from kctl.cli.exit_codes import ExitCode
from kctl.cli.failures import CommandError
from kctl.cli.trace.event_objects import NAMES, SCHEMA_VERSION, ending, event_object, opening
from kctl.cli.trace.trace_file import TraceFile
from kctl.client.clock import ManualClock
from kctl.client.errors import ConnectionLost
from kctl.client.events import (
    AutoCommitFailed,
    Closed,
    CoordinatorFound,
    CoordinatorLost,
    Event,
    Expired,
    Failed,
    GroupChanged,
    GroupStep,
    Lost,
    MembershipLost,
    Phase,
    PhaseDone,
    PositionReset,
    Ready,
    RequestAbandoned,
    RequestExpired,
    RequestSent,
    ResetCause,
    ResponseReceived,
    Started,
    Target,
    Throttled,
)
from tests.unit.cli.probe.view.test_objects import closed

SCHEMA: dict[str, Any] = json.loads(
    (Path(__file__).parents[4] / "docs" / "schemas" / f"trace.v{SCHEMA_VERSION}.json").read_text()
)
VALIDATOR = jsonschema.Draft202012Validator(closed(SCHEMA))
START_MS = 5000
NAME = Target(1, -1, "a.example", 9092, "")
FIRST = NAME._replace(address="10.0.0.1:9092")
ERROR = ConnectionLost("gone", hint="look")
EVENTS: list[Event] = [
    Started(START_MS, NAME, Phase.DNS, 1000),
    PhaseDone(START_MS + 1, NAME, Phase.DNS, 1, "10.0.0.1:9092"),
    Ready(START_MS + 2, FIRST, 1),
    Failed(START_MS + 2, FIRST, Phase.TLS, 1, ERROR),
    Expired(START_MS + 2, FIRST, Phase.SASL, 1000, 1001, ERROR),
    Closed(START_MS + 2, FIRST, "idle"),
    Lost(START_MS + 2, FIRST, ERROR),
    RequestSent(START_MS + 3, FIRST, "Metadata", 13, 1, 40),
    ResponseReceived(START_MS + 7, FIRST, "Metadata", 13, 1, 80, 4),
    RequestExpired(START_MS + 7, FIRST, "Fetch", 2, 30),
    RequestAbandoned(START_MS + 7, FIRST, "ListOffsets", 3, 20),
    Throttled(START_MS + 8, FIRST, "Produce", 100),
    PositionReset(START_MS + 9, "t", 0, 7, 9, "earliest", ResetCause.TRUNCATED),
    AutoCommitFailed(START_MS + 9, "g", (("t", 0, 7),), ERROR),
    MembershipLost(START_MS + 9, "g", "m", (("t", 0),), "it was fenced", None),
    GroupChanged(START_MS + 9, "g", "m", 3, GroupStep.ASSIGNED, (("t", 0),)),
    CoordinatorFound(START_MS + 9, "group g", 1, "h", 9092),
    CoordinatorLost(START_MS + 9, "group g", 1, "h", 9092, ERROR),
]


def objects() -> list[dict[str, Any]]:
    return [opening(17), *(event_object(event, START_MS) for event in EVENTS), ending(9)]


@pytest.mark.parametrize("one", objects(), ids=lambda one: one["event"])
def test_every_object_is_as_the_schema_says(one: dict[str, Any]) -> None:
    VALIDATOR.validate(json.loads(json.dumps(one)))


def test_every_kind_of_event_is_there() -> None:
    assert set(NAMES) == set(get_args(Event)) == {type(event) for event in EVENTS}
    kinds = [reference["$ref"].rpartition("/")[2] for reference in SCHEMA["oneOf"]]
    assert sorted(kinds) == sorted(one["event"] for one in objects())


@pytest.mark.parametrize("change", [{"v": 2}, {"event": "ready"}, {"at_ms": "1"}, {"more": 1}])
def test_the_schema_can_refuse(change: dict[str, Any]) -> None:
    with pytest.raises(jsonschema.ValidationError):
        VALIDATOR.validate({**objects()[1], **change})


def test_a_file_is_whole_when_it_is_finished(tmp_path: Path) -> None:
    clock = ManualClock(START_MS, wall_ms=1_000_000)
    file = TraceFile(tmp_path / "trace.jsonl", clock, pytest.fail)
    clock.advance(7)
    file.on_event(EVENTS[8])
    file.finish()
    file.on_event(EVENTS[8])
    lines = [json.loads(line) for line in (tmp_path / "trace.jsonl").read_bytes().splitlines()]
    assert [line["event"] for line in lines] == ["trace", "response_received", "end"]
    assert (lines[0]["time_ms"], lines[1]["at_ms"], lines[2]["at_ms"]) == (1_000_000, 7, 7)
    assert (lines[1]["api"], lines[1]["elapsed_ms"], lines[1]["host"]) == ("Metadata", 4, "a.example")


def test_a_full_disk_ends_the_trace_and_not_the_command() -> None:
    said: list[str] = []
    file = TraceFile(Path("/dev/full"), ManualClock(), said.append)
    file.on_event(EVENTS[0])
    file.finish()
    assert said == ["note: --trace-file /dev/full is incomplete: No space left on device"]


def test_a_file_that_cannot_be_made(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match=r"--trace-file .*: Is a directory") as raised:
        TraceFile(tmp_path, ManualClock(), pytest.fail)
    assert raised.value.code is ExitCode.USAGE


@pytest.mark.parametrize("secret", ['hun"ter', "back\\slash", "café", "1"])
def test_secret_that_a_broker_repeats_is_masked_in_any_text(tmp_path: Path, secret: str) -> None:
    file = TraceFile(tmp_path / "t", ManualClock(), print, lambda text: text.replace(secret, "***"))
    file.on_event(Lost(START_MS, FIRST, ConnectionLost(f"no {secret}", hint=f"is it {secret}?")))
    file.finish()
    lines = [json.loads(line) for line in (tmp_path / "t").read_text().splitlines()]
    texts = [text for text in lines[1]["error"].values() if isinstance(text, str)]
    assert not any(secret in text for text in texts)
    assert any("no ***" in text for text in texts)
    assert lines[1]["port"] == 9092
