"""Addresses that cannot be dialled, too few descriptors, and bytes that are no text: plain errors, never a bug."""

import os
import subprocess
import sys

import pytest

from kctl.cli.exit_codes import ExitCode
from kctl.client.broker_errors import ErrorCode
from kctl.sandbox import Sandbox
from tests.cli.processes import environment, kctl
from tests.sim.chaos.distortions import Distortion
from tests.sim.chaos.replies import Replies

ALWAYS = 10_000
LIMITS = ("--api-timeout", "2s", "--request-timeout", "1s")


@pytest.mark.parametrize("entry", ["[fe80::1%nope]:9092", "127.0.0.1%lo:9092"])
def test_bootstrap_entry_that_cannot_be_dialled_does_not_stop_the_client(entry: str) -> None:
    with Sandbox(nodes=1, topics={"t": 1}).serve() as served:
        for _ in range(3):  # the first entry is drawn
            ended = kctl("topics", "list", "-b", f"{entry},{served.bootstrap}")
            assert ended.code == ExitCode.OK, ended.stderr


@pytest.mark.parametrize(
    "command", [("consume", "t", "-e"), ("produce", "t", "--delivery-timeout", "2s"), ("topics", "describe", "t")]
)
def test_advertised_port_that_no_machine_has_is_the_error_of_that_address(command: tuple[str, ...]) -> None:
    replies = Replies()
    replies.distort("Metadata", Distortion.PORT, ALWAYS)
    with replies.installed(), Sandbox(nodes=1, topics={"t": 1}).serve() as served:
        ended = kctl(*command, "-b", served.bootstrap, *LIMITS, stdin=b"x\n")
    assert "bug" not in ended.stderr
    assert ended.code in (ExitCode.OK, ExitCode.ADVERTISED_ADDRESS, ExitCode.UNDELIVERED), ended.stderr


@pytest.mark.parametrize(
    ("api", "how", "command"),
    [
        ("Metadata", Distortion.PARTITION, ("consume", "t", "-e")),
        ("Metadata", Distortion.PARTITION, ("topics", "describe", "t")),
        ("Metadata", Distortion.NO_TOPICS, ("consume", "t", "-e")),
        ("ListOffsets", Distortion.OFFSET, ("consume", "t", "-e")),
        ("Metadata", Distortion.NO_TOPICS, ("produce", "t")),
        ("Metadata", Distortion.NO_BROKERS, ("produce", "t")),
    ],
)
def test_answer_that_no_broker_gives_is_a_protocol_error(api: str, how: Distortion, command: tuple[str, ...]) -> None:
    replies = Replies()
    replies.distort(api, how, ALWAYS)
    with replies.installed(), Sandbox(nodes=1, topics={"t": 1}).serve() as served:
        ended = kctl(*command, "-b", served.bootstrap, *LIMITS, stdin=b"x\n")
    assert ended.code in (ExitCode.WRONG_PROTOCOL, ExitCode.DATA), ended.stderr


def test_too_few_descriptors_are_a_plain_error() -> None:
    script = "ulimit -n 5; exec " + sys.executable + " -m kctl consume t -b 127.0.0.1:1 --api-timeout 1s"
    ended = subprocess.run(["/bin/sh", "-c", script], capture_output=True, env=environment(), check=False)
    assert b"cannot open a file or connection: Too many open files" in ended.stderr
    assert ended.returncode == ExitCode.USAGE


@pytest.mark.parametrize("command", [("consume",), ("topics", "create"), ("produce",)])
def test_topic_name_that_is_not_utf8_is_a_mistake_in_the_command_line(command: tuple[str, ...]) -> None:
    ended = kctl(*command, os.fsdecode(b"t\xff"), "-b", "127.0.0.1:1")
    assert ended.code == ExitCode.USAGE
    assert "is not valid UTF-8" in ended.stderr


X = os.fsdecode(b"\xff")


@pytest.mark.parametrize(
    ("command", "name"),
    [
        (("acls", "create", "--allow", f"User:{X}", "--operation", "read", "--topic", "t"), "'--allow'"),
        (("topics", "alter", "t", "--set", f"{X}=1"), "'--config'"),
        (("topics", "alter", "t", "--config", f"retention.ms={X}"), "'--config'"),
        (("consume", "t", "-e", "-g", X), "'--group' / '-g'"),
        (("topics", "list", "-X", f"client.id={X}"), "'-X'"),
        (("-X", f"client.id={X}", "topics", "list"), "'-X'"),
        (("groups", "list", "--state", X), "'--state'"),
        (("consume", "t", "--jq", X), "'--jq'"),
        (("transactions", "list", "--pattern", X), "'--pattern'"),
        (("topics", "list", "-C", X), "'--profile' / '-C'"),
    ],
)
def test_value_that_is_not_utf8_is_a_mistake_in_the_command_line(command: tuple[str, ...], name: str) -> None:
    ended = kctl(*command, "-b", "127.0.0.1:1")
    assert ended.code == ExitCode.USAGE
    assert f"Invalid value for {name}: " in ended.stderr
    assert "is not valid UTF-8" in ended.stderr


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (("apply", X), "cannot read"),
        (("profile", "import", "p", X), "cannot read"),
        (("topics", "list", "-b", "127.0.0.1:1", "--command-config", X), "No such file or directory"),
        (
            (
                "topics",
                "list",
                "-b",
                "127.0.0.1:1",
                "-X",
                f"ssl.truststore.location={X}",
                "-X",
                "security.protocol=SSL",
            ),
            X,
        ),
        (("produce", "t", X, "-b", "127.0.0.1:1", "--delivery-timeout", "1s"), X),
    ],
)
def test_path_of_a_file_may_have_any_bytes(command: tuple[str, ...], said: str) -> None:
    ended = kctl(*command)
    assert ended.code == ExitCode.USAGE, ended
    assert "is not valid UTF-8" not in ended.stderr
    assert "bug" not in ended.stderr


def test_record_may_have_any_bytes() -> None:
    with Sandbox(nodes=1, topics={"t": 1}).serve() as served:
        at = ("-b", served.bootstrap)
        assert kctl("produce", "t", *at, "-k", X, "-H", f"h={X}", stdin=b"x\n").code == ExitCode.OK
        ended = kctl("consume", "t", "-e", *at, "-o", "beginning", "-f", f"{X}%k\\n")
    assert (ended.code, ended.stdout) == (ExitCode.OK, b"\xff\xff\n"), ended.stderr


def test_group_that_the_coordinator_does_not_know_yet_has_nothing_committed() -> None:
    replies = Replies()
    replies.refuse("OffsetFetch", ErrorCode.GROUP_ID_NOT_FOUND, ALWAYS)
    with replies.installed(), Sandbox(nodes=1, topics={"t": 1}).serve() as served:
        assert kctl("produce", "t", "-b", served.bootstrap, stdin=b"x\n").code == ExitCode.OK
        ended = kctl("consume", "-g", "new", "t", "-e", "-b", served.bootstrap, "-o", "beginning")
    assert (ended.code, ended.stdout) == (ExitCode.OK, b"x\n"), ended.stderr


def test_listener_that_answers_some_requests_does_not_want_sasl() -> None:
    """It closes the connection of the consumer's fetches, each time anew."""
    closed = Replies()
    with Sandbox(nodes=1, topics={"t": 1}).serve() as served:
        assert kctl("produce", "t", "-b", served.bootstrap, stdin=b"x\n").code == ExitCode.OK
        with closed.closing("ListOffsets"):
            ended = kctl("consume", "t", "-e", "-b", served.bootstrap, *LIMITS)
    assert ended.code == ExitCode.REFUSED, ended.stderr
    assert "SASL" not in ended.stderr
