"""`kctl probe`: lines, objects, exit codes."""

import json
from typing import Any

import pytest

from kctl.cli.exit_codes import ExitCode
from kctl.sandbox import Fault, Sandbox
from tests.cli.processes import kctl


def _objects(stdout: bytes) -> list[dict[str, Any]]:
    return [json.loads(line) for line in stdout.splitlines()]


def test_lines_of_a_healthy_cluster(bootstrap: str) -> None:
    ended = kctl("probe", "-b", bootstrap)
    assert (ended.code, ended.stderr) == (0, "")
    lines = ended.stdout.decode().splitlines()
    assert lines[-1] == "3 of 3 addresses ready"
    for server in bootstrap.split(","):
        told = [line.split(server, 1)[1].strip() for line in lines if server in line]
        assert [words.split()[:2] for words in told if "done" in words or "ready" in words] == [
            ["dns", "done"], ["tcp", "done"], ["apiversions", "done"], ["ready", "after"],
        ]  # fmt: skip
    assert "\x1b" not in ended.stdout.decode()


def test_objects_and_summary(bootstrap: str, refused: str) -> None:
    ended = kctl("probe", "-b", bootstrap, "-b", refused, "--output", "jsonl", "--connect-timeout", "5s")
    assert (ended.code, ended.stderr) == (0, "")
    *events, summary = _objects(ended.stdout)
    assert summary["event"] == "summary"
    assert (summary["ready"], summary["failed"], summary["exit_code"]) == (3, 1, 0)
    failed = next(address for address in summary["addresses"] if address["outcome"] == "failed")
    assert f"{failed['host']}:{failed['port']}" == refused
    assert (failed["phase"], failed["error"]["name"]) == ("tcp", "ConnectionRefused")
    assert {event["event"] for event in events} == {"started", "phase_done", "ready", "failed"}
    assert all(event["limit_ms"] == 5000 for event in events if event["event"] == "started")


def test_strict(bootstrap: str, refused: str) -> None:
    assert kctl("probe", "-b", f"{bootstrap},{refused}", "--strict").code == ExitCode.DEGRADED
    assert kctl("probe", "-b", bootstrap, "--strict").code == ExitCode.OK


def test_every_address_is_tried_to_its_end(bootstrap: str, refused: str, silent: str, ssh: str) -> None:
    servers = f"{silent},{refused},{ssh},no-such-host.invalid:9092,{bootstrap}"
    ended = kctl("probe", "-b", servers, "--output", "jsonl", "--connect-timeout", "500ms")
    assert ended.code == 0
    summary = _objects(ended.stdout)[-1]
    outcomes = [
        (address["outcome"], address["phase"], (address["error"] or {}).get("name")) for address in summary["addresses"]
    ]
    assert outcomes[:4] == [
        ("expired", "apiversions", "ConnectTimeout"),
        ("failed", "tcp", "ConnectionRefused"),
        ("failed", "apiversions", "WrongPeerError"),
        ("failed", "dns", "DnsError"),
    ]
    assert [outcome for outcome, _, _ in outcomes[4:]] == ["ready"] * 3


def test_the_code_is_that_of_the_cause_that_got_furthest(refused: str, silent: str, ssh: str) -> None:
    limits = ("--connect-timeout", "300ms")
    assert kctl("probe", "-b", f"{refused},no-such-host.invalid:9092", *limits).code == ExitCode.REFUSED
    assert kctl("probe", "-b", f"{refused},{silent}", *limits).code == ExitCode.CONNECT_TIMEOUT
    ended = kctl("probe", "-b", f"{refused},{silent},{ssh}", *limits)
    assert ended.code == ExitCode.WRONG_PEER
    assert ended.stderr.startswith("kctl probe: no address is ready: ")


def test_the_whole_probe_has_a_limit_too(silent: str) -> None:
    ended = kctl("probe", "-b", silent, "--api-timeout", "300ms", "--output", "jsonl")
    assert ended.code == ExitCode.API_TIMEOUT
    assert _objects(ended.stdout)[-1]["addresses"][0]["outcome"] == "running"
    assert "(--api-timeout)" in ended.stderr


@pytest.mark.parametrize(
    ("fault", "code", "words"),
    [
        (Fault.BLACKHOLE, ExitCode.CONNECT_TIMEOUT, "expired in tcp after"),
        (Fault.REFUSE, ExitCode.REFUSED, "connection refused"),
        (Fault.RESET, ExitCode.REFUSED, "reset"),
        (Fault.RESET_ON_REQUEST, ExitCode.REFUSED, "reset the connection"),
        (Fault.SILENCE, ExitCode.CONNECT_TIMEOUT, "expired in apiversions after"),
        (Fault.FREEZE, ExitCode.CONNECT_TIMEOUT, "expired in apiversions after"),
    ],
)
def test_faults_of_the_sandbox(fault: Fault, code: ExitCode, words: str) -> None:
    with Sandbox(nodes=1).serve() as served:
        served.sandbox.start_fault(1, fault)
        ended = kctl("probe", "-b", served.bootstrap, "--connect-timeout", "500ms")
    assert ended.code == code
    assert words in ended.stdout.decode()
