"""Objects for scripts, held to the schema that is checked in: what it names is there, and nothing else is."""

import copy
import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from kctl.cli.exit_codes import ExitCode
from kctl.cli.probe.view.objects import SCHEMA_VERSION, event_object, summary_object
from kctl.cli.probe.view.statistics import Statistics, add_round
from kctl.cli.probe.view.text import LoggedEvent
from kctl.client.cluster import Node
from kctl.client.probe.report import CoordinatorReport
from tests.unit.cli.probe.view.scenario import EVENTS, START_MS, result

SCHEMA_FILE = Path(__file__).parents[5] / "docs" / "schemas" / f"probe.v{SCHEMA_VERSION}.json"
SCHEMA: dict[str, Any] = json.loads(SCHEMA_FILE.read_text())


def closed(schema: Any) -> Any:
    """Return the schema with every object closed: a field that it does not name is refused."""
    schema = copy.deepcopy(schema)

    def close(part: Any) -> None:
        if isinstance(part, dict):
            if "properties" in part:
                part["additionalProperties"] = False
                assert set(part["required"]) == set(part["properties"]), part.get("description")
            for inner in part.values():
                close(inner)
        elif isinstance(part, list):
            for inner in part:
                close(inner)

    close(schema)
    return schema


VALIDATOR = jsonschema.Draft202012Validator(closed(SCHEMA))


def objects() -> list[dict[str, Any]]:
    statistics: Statistics = {}
    add_round(statistics, result().reports)
    found = result()._replace(coordinator=CoordinatorReport("g", Node(1, "a", 9092), None))
    return [
        *(event_object(event, START_MS, 2) for event in EVENTS if isinstance(event, LoggedEvent)),
        summary_object(result(code=ExitCode.UNAVAILABLE), START_MS),
        summary_object(found, START_MS, statistics),
        summary_object(result()._replace(coordinator=None, reports=[], findings=()), START_MS),
    ]


def test_the_schema_is_one() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


@pytest.mark.parametrize("one", objects(), ids=lambda one: one["event"])
def test_every_object_is_as_the_schema_says(one: dict[str, Any]) -> None:
    assert json.loads(json.dumps(one)) == one
    VALIDATOR.validate(one)


def test_every_kind_of_event_is_there() -> None:
    kinds = {reference["$ref"].rpartition("/")[2] for reference in SCHEMA["oneOf"]}
    assert {one["event"] for one in objects()} == kinds


@pytest.mark.parametrize("change", [{"v": 2}, {"event": "ready"}, {"at_ms": "1"}, {"more": 1}])
def test_the_schema_can_refuse(change: dict[str, Any]) -> None:
    with pytest.raises(jsonschema.ValidationError):
        VALIDATOR.validate({**objects()[0], **change})


def test_an_event() -> None:
    assert objects()[0] == {
        "v": 1,
        "event": "started",
        "round": 2,
        "at_ms": 0,
        "phase": "dns",
        "limit_ms": 2000,
        "attempt": 1,
        "node_id": -1,
        "host": "kafka-a.example",
        "port": 9092,
        "address": None,
    }


def test_a_summary() -> None:
    whole = summary_object(result(code=ExitCode.UNAVAILABLE), START_MS)
    assert (whole["ready"], whole["failed"], whole["unfinished"], whole["exit_code"]) == (2, 4, 2, 19)
    assert [address["outcome"] for address in whole["addresses"]] == [
        "ready", "failed", "unfinished", "failed", "failed", "expired", "ready", "unfinished",
    ]  # fmt: skip
    first, refused = whole["addresses"][0], whole["addresses"][1]
    assert first["phases_ms"] == {"dns": 40, "tcp": 120, "tls": 340, "apiversions": 80, "metadata": 160}
    assert first["api_versions"] == {"Produce": [3, 12], "Metadata": [0, 13]}
    assert first["tls"]["chain"][0]["names"] == ["kafka-a.example"]
    assert refused["error"]["exit_code"] == ExitCode.REFUSED
    assert whole["addresses"][6]["advertised_as"]["host"] == "kafka-a.example"
    assert whole["coordinator"]["partition"] == 23
    assert whole["findings"][0]["severity"] == "error"
