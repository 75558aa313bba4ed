"""With --output json each error is one JSON object on stderr, in every command; and it keeps secrets."""

import io
import json
import socket
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from kctl.cli.click import UsageError
from kctl.cli.command_tree import Command, read_tree
from kctl.cli.environment import ClosingNotice, Environment, Secrets
from kctl.cli.exit_codes import ExitCode
from kctl.cli.explanations.lookup import find_pages
from kctl.cli.failures import CommandError, Failure, explain
from kctl.client.broker_errors import ErrorCode, broker_error
from kctl.client.clock import ManualClock
from kctl.client.errors import (
    AdvertisedAddressError,
    ApiTimeout,
    ConfigError,
    ConnectTimeout,
    KafkaError,
    RequestTimeout,
)
from kctl.pipeline.job_errors import ExportDataError
from tests.support.in_process import Ended, run_in_process

if TYPE_CHECKING:
    from jsonschema import Draft202012Validator

SCHEMA = Path(__file__).parents[3] / "docs" / "schemas" / "error.v1.json"
COMMANDS = [each for each in read_tree().walk() if each.runs and len(each.path) > 1]
NOT_CONNECTING = ("pipeline", "profile")
"""Spark starts before the first connection of a job, and `profile show` only shows what it would use."""
CONNECTING = [
    each
    for each in COMMANDS
    if any(option.names[0] == "--bootstrap" for option in each.options) and each.path[1] not in NOT_CONNECTING
]
WORDS = {
    "kctl api": ["Metadata"],
    "kctl configs show": ["topic", "x"],
    "kctl configs set": ["topic", "x", "retention.ms=1"],
    "kctl configs unset": ["topic", "x", "retention.ms"],
    "kctl wait brokers": ["1"],
    "kctl quotas set": ["producer_byte_rate=1", "--user", "x"],
    "kctl quotas unset": ["producer_byte_rate", "--user", "x"],
    "kctl quotas describe": ["--user", "x"],
    "kctl topics alter": ["x", "--config", "retention.ms=1"],
    "kctl topics trim": ["x:0", "--before", "1"],
    "kctl groups reset-offsets": ["x", "--to", "start"],
    "kctl consume": ["x", "-e"],
}
"""Arguments that a command accepts, if one word for each required argument is not enough."""


@cache
def validator() -> "Draft202012Validator":
    from jsonschema import Draft202012Validator

    return Draft202012Validator(json.loads(SCHEMA.read_text()))


def errors_of(ended: Ended) -> list[dict[str, Any]]:
    """Return the errors on stderr, each held to the schema."""
    found = [json.loads(line) for line in ended.stderr.splitlines() if line.startswith("{")]
    for each in found:
        validator().validate(each)
    return found


def only_error(ended: Ended) -> dict[str, Any]:
    [line] = ended.stderr.splitlines()
    [error] = errors_of(ended)
    assert line.startswith("{")
    return error


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)
def test_mistake_in_the_command_line_is_one_object(command: Command) -> None:
    ended = run_in_process(*command.path[1:], "--no-such-option", "--output", "json")
    error = only_error(ended)
    assert (ended.code, error["code"], ended.stdout) == (2, 2, b"")
    assert error["hint"], "leads to the help"


@pytest.fixture
def closed_port() -> Iterator[int]:
    with socket.socket() as taken:  # bound and not listening: nothing else takes it
        taken.bind(("127.0.0.1", 0))
        yield taken.getsockname()[1]


@pytest.mark.parametrize("command", CONNECTING, ids=lambda command: command.name)
def test_broker_that_does_not_accept_is_one_object(command: Command, closed_port: int) -> None:
    words = WORDS.get(command.name, ["x" for each in command.arguments if each.is_required])
    limits = ("--api-timeout", "50ms", "--connect-timeout", "20ms", "--output", "json", "-q")
    ended = run_in_process(*command.path[1:], *words, "-b", f"127.0.0.1:{closed_port}", *limits, stdin=b"x\n")
    error = only_error(ended)
    assert ended.code == error["code"] != 0


def test_error_has_the_cause_that_decides_the_exit_code() -> None:
    refused = ConnectTimeout("no response", limit_ms=1, elapsed_ms=1)
    refused.host, refused.port, refused.phase = "fe80::1", 9092, "tcp"
    advertised = AdvertisedAddressError(4, refused, hint="set it")
    late = ApiTimeout("waiting", timeout_ms=9, elapsed_ms=9, cause=advertised)
    fields = explain(late).fields()
    assert fields["code"] == ExitCode.ADVERTISED_ADDRESS
    assert (fields["cause"], fields["broker"], fields["phase"]) == ("AdvertisedAddressError", "[fe80::1]:9092", "tcp")
    assert fields["hint"] == "set it"
    validator().validate(fields)


def test_error_of_a_command_has_the_cause_of_its_context() -> None:
    error = CommandError(ExitCode.API_TIMEOUT, "timed out")
    error.__cause__ = broker_error(ErrorCode.NOT_COORDINATOR, "OffsetFetch")
    assert explain(error).cause == "NOT_COORDINATOR"


@pytest.mark.parametrize(
    "error", [KafkaError("x"), ConfigError("x", key="y"), broker_error(ErrorCode.NOT_CONTROLLER, "x")]
)
def test_cause_is_a_name_that_explain_knows(error: Exception) -> None:
    cause = explain(error).cause
    assert [page.name for page in find_pages(cause)] == [cause]


@pytest.mark.parametrize(
    "error", [ExportDataError("x"), FileNotFoundError("x"), UsageError("x"), CommandError(ExitCode.DATA, "x")]
)
def test_error_that_explain_does_not_know_has_no_cause(error: Exception) -> None:
    assert explain(error).fields()["cause"] is None


def test_request_without_a_response_names_the_broker() -> None:
    error = RequestTimeout("waiting for the Metadata response", timeout_ms=1, elapsed_ms=1)
    error.address = "b:9092"
    assert explain(error)[4:] == ("RequestTimeout", "b:9092", "")


@pytest.mark.parametrize("error", [KafkaError("x"), CommandError(ExitCode.DATA, "x"), ValueError("x")])
def test_error_without_a_connection_has_neither_broker_nor_phase(error: Exception) -> None:
    fields = explain(error).fields()
    assert (fields["broker"], fields["phase"]) == (None, None)
    validator().validate(fields)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("topics list --bogus --output json", True),
        ("topics list --bogus --output=JSONL", True),
        ("topics list --json --bogus", True),
        ("topics list --bogus --output yaml", False),
        ("topics list --bogus", False),
        ("topics list --bogus -- --json", False),
        ("topics list --output", False),
        ("topics lst --json", True),
        ("topisc lst --json", True),
        ("--json topisc", True),
        ("topisc", False),
    ],
)
def test_json_is_recognized_before_the_line_is_parsed(line: str, expected: bool) -> None:
    assert run_in_process(*line.split()).stderr.startswith("{") is expected


@pytest.mark.parametrize(
    ("line", "is_json"),
    [
        ("topics list -f json", True),
        ("topics list -ojsonl", True),
        ("topics list --format=json --bogus", True),
        ("topics list -J", True),
        ("probe -o json", True),
        ("topics list -o yaml", False),
        ("consume t -f json", False),
        ("consume t -o json", False),
        ("apply -f json", False),
    ],
)
def test_form_of_an_error_is_the_form_of_the_output(line: str, is_json: bool) -> None:
    ended = run_in_process(*line.split())
    assert ended.code == ExitCode.USAGE
    assert ended.stderr.startswith("{") is is_json
    assert len(errors_of(ended)) == is_json


def environment_of(stderr: io.StringIO, secret: str) -> Environment:
    environment = Environment(
        io.BytesIO(),
        io.BytesIO(),
        stderr,
        {},
        ManualClock(),
        closing_notice=ClosingNotice(),
        secrets=Secrets(),
        errors_as_json=True,
    )
    environment.secrets.values = (secret,)
    return environment


def test_secret_is_masked_and_text_steers_no_terminal() -> None:
    stderr = io.StringIO()
    environment = environment_of(stderr, 'hun"ter')
    environment.say_failure(Failure(ExitCode.AUTHENTICATION, 'no hun"ter\x1b[2J', 'hun"ter\n'))
    assert json.loads(stderr.getvalue())["message"] == "no ***\x1b[2J"
    assert "\x1b" not in stderr.getvalue()
    assert stderr.getvalue().count("\n") == 1


@pytest.mark.parametrize("secret", ["1", "error", "message", '", "', "null"])
def test_secret_changes_no_name_and_no_number(secret: str) -> None:
    stderr = io.StringIO()
    environment = environment_of(stderr, secret)
    environment.say_failure(Failure(ExitCode.AUTHENTICATION, f"a {secret} b", details=(f"c {secret}",)))
    shown = json.loads(stderr.getvalue())
    assert (shown["v"], shown["kind"], shown["code"]) == (1, "error", ExitCode.AUTHENTICATION)
    assert (shown["message"], shown["details"], shown["hint"]) == ("a *** b", ["c ***"], None)


def test_details_are_lists_and_limits_are_options() -> None:
    failure = Failure(ExitCode.DATA, "timed out (default.api.timeout.ms)", "", ("a", "b"))
    assert (failure.fields()["message"], failure.fields()["details"]) == ("timed out (--api-timeout)", ["a", "b"])
