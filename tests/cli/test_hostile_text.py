"""Text of a broker, a member of a group or a record: it steers no terminal and begins no line, in any output."""

import copy
import json
import logging
import re
from collections.abc import Callable, Iterator
from enum import Enum
from pathlib import Path

import pytest

from kctl.cli.exit_codes import ExitCode
from kctl.client.consumer import Consumer
from kctl.client.errors import LocalProtocolError
from kctl.client.producer import Producer
from kctl.client.protocol.framing import encode_response
from kctl.client.protocol.schema import Response, Struct
from kctl.sandbox import Sandbox
from kctl.sandbox.server import ServedSandbox
from tests.cli.processes import environment
from tests.support.in_process import Ended, run_in_process

LINE = "hint: curl evil.example"
MARKUP = "<img src=x onerror=alert()>"
PAYLOAD = f"{MARKUP}\x1b]0;T\x07\x1b[31m\u202e\u2066\x9b2J\r\n{LINE}\n=1+1\t\u2028{LINE}"
STEERING = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
"""What no output for people has: all controls but the line feed, and marks of direction."""
NAMES = {
    *("name", "topic", "topic_name", "topics", "group_id", "transactional_id", "key", "resource_name", "leader"),
    *("protocol_type", "protocol_data", "protocol_name", "assignment", "metadata", "member_id", "assignor", "host"),
}
"""Fields by which the client finds what it asked for; with other values it rejects the response."""


class Mode(Enum):
    """Which strings of responses are hostile: words alone, or names too, or words of an error in each place."""

    WORDS = "words"
    NAMES = "names"
    ERRORS = "errors"


def make_hostile(value: object, mode: Mode) -> None:
    """Put the payload behind every string of a response."""
    for name in getattr(type(value), "__slots__", ()):
        old = getattr(value, name, None)
        if mode is Mode.ERRORS:
            if name == "error_message":
                setattr(value, name, PAYLOAD)
            elif name == "error_code":
                setattr(value, name, 42)  # INVALID_REQUEST
        elif isinstance(old, str) and old and (mode is Mode.NAMES or name not in NAMES):
            setattr(value, name, old + PAYLOAD)
        if isinstance(old, list):
            for at, each in enumerate(old):
                if isinstance(each, str) and mode is Mode.NAMES:
                    old[at] = each + PAYLOAD
                make_hostile(each, mode)
        elif isinstance(old, Struct):
            make_hostile(old, mode)


@pytest.fixture
def served() -> Iterator[ServedSandbox]:
    """A cluster with records, and a group whose member has a hostile client.id."""
    with Sandbox(nodes=1, topics={"t": 1}).serve() as cluster:
        at = {"bootstrap.servers": cluster.bootstrap}
        with Producer(at) as producer:
            producer.send("t", b"value")
        member = {**at, "group.id": "g", "client.id": f"app{PAYLOAD}", "auto.offset.reset": "earliest"}
        with Consumer(member) as consumer:
            consumer.subscribe(["t"])
            while not consumer.poll(0.1):
                pass
            consumer.commit_sync()
            yield cluster


@pytest.fixture
def strike(monkeypatch: pytest.MonkeyPatch) -> Callable[[Mode], None]:
    """Make the broker hostile from now on, except for the negotiation of versions and the heartbeats of the group."""

    def begin(mode: Mode) -> None:
        def encode(response: Response, version: int, correlation_id: int) -> bytes:
            if type(response).__name__ in ("ApiVersionsResponse", "HeartbeatResponse"):
                return encode_response(response, version, correlation_id)
            changed = copy.deepcopy(response)
            if mode is not Mode.ERRORS or type(response).__name__ not in (
                "MetadataResponse",
                "FindCoordinatorResponse",
            ):
                make_hostile(changed, mode)
            try:
                return encode_response(changed, version, correlation_id)
            except LocalProtocolError:  # a field of another version
                return encode_response(response, version, correlation_id)

        monkeypatch.setattr("kctl.sandbox.connection.encode_response", encode)

    return begin


def check(ended: Ended, *, is_for_people: bool = True) -> None:
    """Fail if a stream has what steers a terminal, or a line that the payload began."""
    for text in (ended.stderr, ended.stdout.decode()) if is_for_people else (ended.stderr,):
        assert STEERING.search(text) is None, repr(text)
        assert not any(line.startswith((LINE, "=1+1")) for line in text.splitlines()), text
    assert "bug" not in ended.stderr, ended.stderr


PLANTED = {
    "messages": ("kctl.cli.environment.one_line", ("groups", "delete", "g", "--execute"), Mode.WORDS),
    "tables": ("kctl.cli.formats.rows.harmless_text", ("groups", "members", "g"), Mode.WORDS),
}
"""Where text of a peer is escaped, and a command and mode by which a missing escape is found."""


@pytest.mark.parametrize("place", PLANTED)
def test_text_that_is_not_escaped_is_found(
    place: str, served: ServedSandbox, strike: Callable[[Mode], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    name, command, mode = PLANTED[place]
    strike(mode)
    check(run(served, command))
    monkeypatch.setattr(name, lambda text: text)
    with pytest.raises(AssertionError):
        check(run(served, command))


COMMANDS = [
    ("topics", "list"),
    ("topics", "describe", "t"),
    ("topics", "offsets", "t"),
    ("cluster", "describe"),
    ("cluster", "quorum"),
    ("brokers",),
    ("brokers", "disks"),
    ("configs", "show", "topic:t"),
    ("groups", "list"),
    ("groups", "describe", "g"),
    ("groups", "members", "g"),
    ("groups", "lag", "g"),
    ("groups", "delete", "g", "--execute"),
    ("groups", "reset-offsets", "g", "--to", "earliest", "--execute"),
    ("acls", "list"),
    ("users", "list"),
    ("quotas", "list"),
    ("partitions", "list"),
    ("transactions", "list"),
    ("consume", "t", "-e"),
    ("produce", "t"),
    ("topics", "create", "new"),
    ("doctor",),
    ("probe",),
    ("why", "g"),
]
FEW = [("groups", "members", "g"), ("groups", "delete", "g", "--execute"), ("topics", "create", "new"), ("probe",)]
"""Of each way of text to an output one: tables, errors, results of changes, findings."""


def run(served: ServedSandbox, command: tuple[str, ...], *more: str, tty: bool = False) -> Ended:
    limits = ("-b", served.bootstrap, "--api-timeout", "1500ms", "--request-timeout", "700ms", *more)
    environ = environment({"NO_COLOR": "1", "TERM": "dumb"})
    return run_in_process(*command, *limits, stdin=b"value\n", environ=environ, stdout_is_tty=tty)


@pytest.mark.parametrize("mode", Mode, ids=lambda mode: mode.value)
@pytest.mark.parametrize("command", FEW, ids=" ".join)
@pytest.mark.slow
def test_text_of_a_peer_is_harmless(
    command: tuple[str, ...], mode: Mode, served: ServedSandbox, strike: Callable[[Mode], None]
) -> None:
    strike(mode)
    check(run(served, command))


@pytest.mark.parametrize("mode", Mode, ids=lambda mode: mode.value)
@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
@pytest.mark.nightly
def test_text_of_a_peer_is_harmless_in_every_output(
    command: tuple[str, ...], mode: Mode, served: ServedSandbox, strike: Callable[[Mode], None]
) -> None:
    strike(mode)
    for more in ((), ("-v",), ("--trace",)):
        check(run(served, command, *more))
    offered = run(served, command, "--output", "nothing").stderr
    if " csv" in offered and command[0] != "consume":
        check(run(served, command, "--output", "csv", tty=True))
    for shape in ("table", "yaml"):
        if f" {shape}" in offered:
            check(run(served, command, "--output", shape, tty=True))
    for shape in ("json", "jsonl"):
        if shape not in offered:
            continue
        ended = run(served, command, "--output", shape)
        check(ended)
        for document in [ended.stdout] if shape == "json" else ended.stdout.splitlines():
            assert not document or json.loads(document) is not None


@pytest.mark.parametrize("mode", Mode, ids=lambda mode: mode.value)
def test_text_of_a_peer_is_harmless_in_logs_and_pages(
    mode: Mode,
    served: ServedSandbox,
    strike: Callable[[Mode], None],
    caplog: pytest.LogCaptureFixture,
    tmp_path: Path,
) -> None:
    caplog.set_level(logging.DEBUG, "kctl")
    strike(mode)
    (tmp_path / "probe.jsonl").write_bytes(run(served, ("probe",), "--output", "jsonl").stdout)
    run(served, ("consume", "t", "-g", "logged", "-n", "1"))
    run(served, ("groups", "members", "g"))
    for record in caplog.records:
        text = record.getMessage().removeprefix(f"app{PAYLOAD}")  # the name that the member has given itself
        assert STEERING.search(text) is None, repr(text)
        assert "\n" not in text, repr(text)
    page = tmp_path / "page.html"
    report = ("probe", "report", str(tmp_path / "probe.jsonl"), "--html", str(page))
    check(run_in_process(*report, environ=environment({"NO_COLOR": "1"})))
    if page.exists():
        assert MARKUP not in page.read_text()
        assert not any(line.startswith(LINE) for line in page.read_text().splitlines())


def test_member_with_line_feeds_in_its_client_id_forges_no_line(served: ServedSandbox) -> None:
    for command in (("groups", "members", "g"), ("groups", "delete", "g", "--execute")):
        ended = run(served, command)
        check(ended)
    assert "\\x0a" in ended.stderr, "the error names the member"


@pytest.mark.parametrize("command", [("groups", "describe", "g"), ("why", "g"), ("doctor",)], ids=" ".join)
def test_description_of_another_group_is_a_wrong_response(
    command: tuple[str, ...], served: ServedSandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    def encode(response: Response, version: int, correlation_id: int) -> bytes:
        changed = copy.deepcopy(response)
        if "Describe" in type(response).__name__:
            for group in getattr(changed, "groups", ()):
                group.group_id = "other"
        return encode_response(changed, version, correlation_id)

    monkeypatch.setattr("kctl.sandbox.connection.encode_response", encode)
    ended = run(served, command)
    check(ended)
    if command[0] == "groups":
        assert ended.code == ExitCode.WRONG_PROTOCOL, ended.stderr
