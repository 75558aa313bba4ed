"""`--output` of each command that lists or describes: every format, against the sandbox and the schema of the docs."""

import csv
import io
import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from kctl.client.broker_errors import ErrorCode
from kctl.client.producer import Producer
from kctl.sandbox import Sandbox
from kctl.sandbox.triggers import MAX_FAILURES
from tests.cli.groups_scene import commit, fill, join
from tests.cli.processes import Ended, kctl

SCHEMA = json.loads((Path(__file__).parents[2] / "docs" / "schemas" / "listing.v1.json").read_text())
DOCUMENTS, LINES = (
    jsonschema.Draft202012Validator({**SCHEMA, "oneOf": [{"$ref": f"#/$defs/{each}"}]}) for each in ("document", "line")
)
"""Made once: `jsonschema.validate` would hold the whole schema to its own schema for each line."""
FIELDS = set(SCHEMA["$defs"]["fields"]["properties"])
PROFILE = '[profiles.p]\n"bootstrap.servers" = "localhost:1"\n"acks" = "2"\n'


@pytest.fixture
def group(topic: str, bootstrap: str) -> str:
    """A group with a commit."""
    fill(bootstrap, topic, {0: 10})
    commit(bootstrap, f"{topic}-group", {(topic, 0): 4})
    return f"{topic}-group"


def check(kind: str, command: tuple[str, ...], *, code: int = 0, environ: dict[str, str] | None = None) -> list[Any]:
    """Run a command in each format, hold it to the schema, and return the rows."""

    def run(output: str) -> Ended:
        ended = kctl(*command, "--output", output, environ=environ)
        assert ended.code == code, ended
        return ended

    document = json.loads(run("json").stdout)
    DOCUMENTS.validate(document)
    assert document["kind"] == kind
    read = yaml.safe_load(run("yaml").stdout)
    assert _shape(read) == _shape(document)
    lines = [json.loads(line) for line in run("jsonl").stdout.splitlines()]
    for line in lines:
        LINES.validate(line)
    rows: list[Any] = document["rows"]
    assert len(lines) == len(rows) > 0
    header, *cells = list(csv.reader(io.StringIO(run("csv").stdout.decode())))
    assert set(header) <= FIELDS
    assert cells
    assert {len(row) for row in cells} == {len(header)}
    assert len(run("table").stdout.splitlines()) > 1
    return rows


def _shape(value: Any) -> Any:
    """Return the fields and types of a value: figures of two runs differ."""
    if isinstance(value, dict):
        return {key: _shape(each) for key, each in value.items()}
    return [_shape(each) for each in value] if isinstance(value, list) else type(value)


def test_schema_is_valid() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


def test_topics(bootstrap: str, topic: str) -> None:
    check("topics", ("topics", "list", "-b", bootstrap))
    check("topics", ("topics", "list", "--size", "-b", bootstrap))
    check("partitions", ("topics", "describe", topic, "-b", bootstrap))
    check("topics", ("topics", "create", f"{topic}-new", "--dry-run", "-b", bootstrap))
    check("topics", ("topics", "delete", topic, "-b", bootstrap))


def test_configs(bootstrap: str, topic: str) -> None:
    check("configs", ("configs", "show", "topic", topic, "--docs", "-b", bootstrap))
    check("configs", ("configs", "set", "topic", topic, "retention.ms=1", "-b", bootstrap))
    check("configs", ("topics", "describe", topic, "--configs", "-b", bootstrap))
    check("configs", ("topics", "alter", topic, "--config", "retention.ms-", "-b", bootstrap))


def test_operators(bootstrap: str, topic: str) -> None:
    check("brokers", ("cluster", "describe", "-b", bootstrap))
    check("quorum", ("cluster", "quorum", "-b", bootstrap))
    check("disks", ("brokers", "disks", "-b", bootstrap))
    check("replicas", ("brokers", "disks", "1", "--replicas", "-b", bootstrap))
    check("partitions", ("partitions", "elect", topic, "-b", bootstrap))
    check("partitions", ("topics", "offsets", topic, "-b", bootstrap))
    check("partitions", ("topics", "offsets", topic, "--at", "start", "-b", bootstrap))
    check("partitions", ("topics", "trim", topic, "--before", "end", "-b", bootstrap))


def test_transactions(bootstrap: str, topic: str) -> None:
    properties = {"bootstrap.servers": bootstrap, "transactional.id": f"{topic}-id"}
    with Producer(properties) as producer:
        producer.init_transactions(timeout=30)
        producer.begin_transaction()
        producer.send(topic, b"x", partition=0).result(30)
        check("transactions", ("transactions", "list", "-b", bootstrap))
        check("transactions", ("transactions", "describe", f"{topic}-id", "-b", bootstrap))
        check("transactions", ("transactions", "hanging", "--topic", topic, "--all", "-b", bootstrap))
        forced = ("transactions", "abort", f"{topic}:0", "--start-offset", "0", "--force")
        check("transactions", (*forced, "-b", bootstrap))
        producer.abort_transaction(timeout=30)


def test_groups(bootstrap: str, topic: str, group: str) -> None:
    check("groups", ("groups", "list", "-b", bootstrap))
    check("groups", ("groups", "describe", group, "-b", bootstrap))
    check("partitions", ("groups", "lag", group, "-b", bootstrap))
    check("groups", ("groups", "delete", group, "-b", bootstrap))
    check("partitions", ("groups", "reset-offsets", group, "--to-earliest", "-b", bootstrap))
    check("partitions", ("groups", "delete-offsets", group, "--topic", topic, "-b", bootstrap))


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_members(bootstrap: str, topic: str, protocol: str) -> None:
    with join(bootstrap, f"{topic}-group", topic, group_protocol=protocol):
        check("members", ("groups", "members", f"{topic}-group", "-b", bootstrap))
        check("groups", ("groups", "describe", f"{topic}-group", "-b", bootstrap))


def test_profiles(tmp_path: Path) -> None:
    (tmp_path / "kctl").mkdir()
    (tmp_path / "kctl" / "config.toml").write_text(PROFILE)
    environ = {"XDG_CONFIG_HOME": str(tmp_path)}
    check("profiles", ("profile", "list"), environ=environ)
    check("properties", ("profile", "show", "p"), environ=environ)
    check("properties", ("profile", "show", "p", "--origin"), environ=environ)
    check("findings", ("profile", "check"), code=2, environ=environ)


def test_explain_and_api_write_every_format() -> None:
    check("apis", ("api",))
    check("explanations", ("explain", "--list"))
    check("explanations", ("explain", "12"))


def test_bench(bootstrap: str) -> None:
    check("bench", ("bench", "produce", "-b", bootstrap, "-n", "10"))


def test_the_summary_of_a_probe_is_the_same_in_yaml_and_has_rows_in_csv(bootstrap: str) -> None:
    ended = kctl("probe", "-b", bootstrap, "--output", "yaml")
    assert (ended.code, yaml.safe_load(ended.stdout)["event"]) == (0, "summary")
    header, *rows = list(csv.reader(io.StringIO(kctl("probe", "-b", bootstrap, "--output", "csv").stdout.decode())))
    assert set(header) <= FIELDS
    assert {row[header.index("outcome")] for row in rows} == {"ready"}


def test_a_failed_command_writes_nothing_to_stdout(bootstrap: str) -> None:
    for command in (("topics", "describe", "nope"), ("groups", "lag", "nope"), ("groups", "describe", "nope"),
                    ("groups", "members", "nope"), ("topics", "delete", "nope")):  # fmt: skip
        for output in ("table", "json", "csv"):
            ended = kctl(*command, "-b", bootstrap, "--output", output)
            assert ended.code != 0
            assert ended.stdout == b""


def test_json_is_a_short_form(bootstrap: str, topic: str) -> None:
    assert json.loads(kctl("topics", "list", "-b", bootstrap, "--json").stdout)["kind"] == "topics"
    fill(bootstrap, topic, {0: 1})
    (line,) = kctl("consume", topic, "-b", bootstrap, "-o", "start", "-e", "--json").stdout.splitlines()
    assert json.loads(line)["topic"] == topic


def test_produce_prints_a_row_for_each_partition(bootstrap: str, topic: str) -> None:
    sent = kctl("produce", topic, "-b", bootstrap, "-p", "0", "--output", "json", "-q", stdin=b"a\nb\n")
    document = json.loads(sent.stdout)
    assert (sent.code, sent.stderr, document["kind"]) == (0, "", "deliveries")
    assert (document["delivered_records"], document["undelivered_records"]) == (2, 0)
    assert document["transaction"] is None
    [row] = document["rows"]
    assert (row["topic"], row["partition"], row["delivered"], row["last_offset"]) == (topic, 0, 2, 1)


def test_produce_that_fails_prints_counts_on_stdout_and_one_error_on_stderr() -> None:
    with Sandbox(nodes=1, topics={"t": 1}).serve() as served:
        served.sandbox.fail_requests("Produce", ErrorCode.NOT_ENOUGH_REPLICAS, times=MAX_FAILURES)
        sent = kctl(
            "produce", "t", "-b", served.bootstrap, "--delivery-timeout", "600ms", "--output", "jsonl", "-q",
            stdin=b"a\nb\n",
        )  # fmt: skip
    row = json.loads(sent.stdout)
    assert (row["delivered"], row["failed"] + row["unknown"], row["error"]) == (0, 2, "NOT_ENOUGH_REPLICAS")
    error = json.loads(sent.stderr)
    assert (sent.code, error["code"], error["cause"]) == (20, 20, "NOT_ENOUGH_REPLICAS")
    assert error["message"].startswith("2 records NOT delivered")


def test_wait_prints_what_it_reached(bootstrap: str, topic: str) -> None:
    reached = kctl("wait", "topic", topic, "-b", bootstrap, "--output", "json")
    [row] = json.loads(reached.stdout)["rows"]
    assert (reached.code, row["item"], row["result"]) == (0, f"topic {topic}", "reached")
    late = kctl("wait", "topic", "none-such", "-b", bootstrap, "--api-timeout", "300ms", "--json", "-q")
    error = json.loads(late.stderr)
    assert (late.code, error["code"], late.stdout) == (17, 17, b"")
