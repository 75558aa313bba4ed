"""`kctl probe`: lines, objects, one's own templates, exit codes."""

import json
import signal
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from kctl.cli.exit_codes import ExitCode
from kctl.sandbox import Fault, ListenerSecurity, Sandbox
from kctl.sandbox.identity import SaslUsers
from tests.cli.processes import ROOT, end, kctl, running

OBJECTS = jsonschema.Draft202012Validator(json.loads((ROOT / "docs" / "schemas" / "probe.v1.json").read_text()))


def _objects(stdout: bytes) -> list[dict[str, Any]]:
    objects = [json.loads(line) for line in stdout.splitlines()]
    for one in objects:
        OBJECTS.validate(one)
    return objects


def _summary(*arguments: str) -> dict[str, Any]:
    (summary,) = _objects(kctl("probe", "--output", "json", *arguments).stdout)
    return summary


def test_lines_of_a_healthy_cluster(bootstrap: str) -> None:
    ended = kctl("probe", "-b", bootstrap)
    assert (ended.code, ended.stderr) == (0, "")
    lines = ended.stdout.decode().splitlines()
    assert lines[-1] == "3 of 3 addresses ready"
    assert lines[-2].startswith("cluster kctl-sandbox-000000000: 3 brokers, controller ")
    for server in bootstrap.split(","):
        told = [line.split(server, 1)[1].split()[:2] for line in lines if f" ms  {server}  " in line]
        assert told == [
            ["dns", "done"], ["tcp", "done"], ["apiversions", "done"], ["connected", "after"], ["metadata", "done"],
        ]  # fmt: skip
    assert "\x1b" not in ended.stdout.decode()
    assert "tcp started" in kctl("probe", "-v", "-b", bootstrap).stdout.decode()


def test_brokers_that_were_not_given_are_found_and_tried(bootstrap: str) -> None:
    first, *others = bootstrap.split(",")
    lines = kctl("probe", "-b", first).stdout.decode().splitlines()
    assert lines[-1] == "3 of 3 addresses ready"
    for server in others:
        assert any(f"{server}  connected after" in line for line in lines)


def test_objects_and_summary(bootstrap: str, refused: str) -> None:
    ended = kctl("probe", "-b", bootstrap, "-b", refused, "--output", "jsonl", "--connect-timeout", "5s")
    assert (ended.code, ended.stderr) == (0, "")
    *events, summary = _objects(ended.stdout)
    assert summary["event"] == "summary"
    assert (summary["ready"], summary["failed"], summary["exit_code"]) == (3, 1, 0)
    failed = next(address for address in summary["addresses"] if address["outcome"] == "failed")
    assert f"{failed['host']}:{failed['port']}" == refused
    assert (failed["phase"], failed["error"]["name"]) == ("tcp", "ConnectionRefused")
    assert [finding["id"] for finding in summary["findings"]] == ["bootstrap-unreachable"]
    assert {address["answers_as"] for address in summary["addresses"]} == {1, 2, 3, None}
    assert {event["event"] for event in events} == {"started", "phase_done", "connected", "failed"}
    assert all(event["limit_ms"] == 5000 for event in events if event["event"] == "started")


def test_strict(bootstrap: str, refused: str) -> None:
    assert kctl("probe", "-b", f"{bootstrap},{refused}", "--strict").code == ExitCode.PARTIAL_FAILURE
    assert kctl("probe", "-b", bootstrap, "--strict").code == ExitCode.OK


def test_every_address_is_tried_to_its_end(bootstrap: str, refused: str, silent: str, ssh: str) -> None:
    servers = f"{silent},{refused},{ssh},no-such-host.invalid:9092,{bootstrap}"
    summary = _summary("-b", servers, "--connect-timeout", "500ms")
    assert summary["exit_code"] == 0
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
    assert ended.code == ExitCode.WRONG_PROTOCOL
    assert ended.stderr.startswith(f"kctl probe: no address is ready: {ssh}: ")


def test_the_whole_probe_has_a_limit_too(silent: str) -> None:
    ended = kctl("probe", "-b", silent, "--api-timeout", "300ms", "--output", "jsonl")
    listed = kctl("topics", "list", "-b", silent, "--api-timeout", "300ms", "--json", "-q")
    assert ended.code == listed.code == ExitCode.CONNECT_TIMEOUT
    assert _objects(ended.stdout)[-1]["addresses"][0]["outcome"] == "unfinished"
    hint = json.loads(listed.stderr)["hint"]
    assert (
        hint
        == json.loads(ended.stderr.splitlines()[-1])["hint"]
        == "check that the port is a Kafka port and that the broker responds"
    )


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


def test_a_hung_broker_is_named_by_its_id_and_its_duties() -> None:
    with Sandbox(nodes=3, topics={"orders": 12}).serve() as served:
        served.sandbox.start_fault(1, Fault.FREEZE)
        for servers in (served.bootstrap, served.bootstrap.split(",")[1]):
            ended = kctl("probe", "-b", servers, "--connect-timeout", "500ms")
            assert ended.code == ExitCode.PARTIAL_FAILURE
            assert ": broker 1, leads 4 partitions, does not respond: " in ended.stdout.decode()
        quiet = kctl("probe", "-q", "-b", served.bootstrap, "--connect-timeout", "500ms")
    assert quiet.stdout.decode().startswith("degraded: 2 of 3 addresses ready, 1 failed (exit code 3, ")


def test_no_broker_where_it_is_advertised_has_both_names_side_by_side(refused: str) -> None:
    with Sandbox(nodes=1).serve() as served:
        bootstrap = served.bootstrap
        host, _, port = refused.rpartition(":")
        served.sandbox.advertise(1, host, int(port))
        ended = kctl("probe", "-b", bootstrap)
    assert ended.code == ExitCode.ADVERTISED_ADDRESS
    assert f"{bootstrap} is broker 1, advertised as {refused}" in ended.stdout.decode()
    assert f"ERROR advertised-unusable {refused}: bootstrap ok, but broker 1 advertises" in ended.stdout.decode()
    assert ended.stderr.startswith(f"kctl probe: the cluster is not usable: {refused}: bootstrap ok")


def test_a_broker_that_answers_as_another() -> None:
    with Sandbox(nodes=2).serve() as served:
        first, second = served.bootstrap.split(",")
        served.sandbox.advertise(1, "127.0.0.1", int(second.rpartition(":")[2]))
        served.sandbox.advertise(2, "127.0.0.1", int(first.rpartition(":")[2]))
        ended = kctl("probe", "-b", first)
    assert ended.code == ExitCode.ADVERTISED_ADDRESS
    assert "advertised as broker 2, but broker 1 responds there" in ended.stdout.decode()


def test_the_coordinator_of_a_group(bootstrap: str) -> None:
    summary = _summary("-b", bootstrap, "--group", "g")
    assert summary["coordinator"]["group"] == "g"
    assert summary["coordinator"]["node"]["node_id"] in {1, 2, 3}
    assert "group g: coordinator is broker " in kctl("probe", "-b", bootstrap, "--group", "g").stdout.decode()


def test_quiet_is_one_line(bootstrap: str, refused: str) -> None:
    ended = kctl("probe", "-q", "-b", bootstrap)
    assert ended == (0, b"ok: 3 of 3 addresses ready\n", "")
    ended = kctl("probe", "-q", "-b", refused)
    assert (ended.code, ended.stderr, ended.stdout.count(b"\n")) == (ExitCode.REFUSED, "", 1)
    assert ended.stdout.decode().startswith("fail: 0 of 1 addresses ready, 1 failed (exit code 11, ")
    assert "connection refused" in ended.stdout.decode()


def test_a_template_of_ones_own(bootstrap: str, refused: str) -> None:
    ended = kctl("probe", "-b", f"{bootstrap},{refused}", "--write-out", r"%{host}:%{port} %{outcome} %{exit_code}\n")
    assert ended.code == 0
    wanted = [f"{server} ready 0" for server in bootstrap.split(",")] + [f"{refused} failed 11"]
    assert ended.stdout.decode().splitlines() == wanted


def test_addresses_by_hand(bootstrap: str) -> None:
    port = bootstrap.split(",")[0].rpartition(":")[2]
    name = f"no-such-host.invalid:{port}"
    ended = kctl("probe", "-b", name, "--resolve", f"{name}:127.0.0.1", "--resolve", "unused:1:[::1]")
    assert ended.code == 0
    assert f"{name} [127.0.0.1]  connected after" in ended.stdout.decode()
    assert f"{name} [127.0.0.1] is broker 1, advertised as 127.0.0.1:{port}" in ended.stdout.decode()
    assert "note: --resolve for unused:1 has no effect: no broker has this address" in ended.stderr


def test_a_connection_that_is_kept_silent(bootstrap: str) -> None:
    summary = _summary("-b", bootstrap, "--idle", "50ms")
    assert [address["idle"] for address in summary["addresses"]] == [{"idle_ms": 50, "error": None}] * 3


def test_rounds_and_their_statistics(bootstrap: str, refused: str) -> None:
    options = ("--count", "3", "--interval", "10ms")
    ended = kctl("probe", "-b", f"{bootstrap},{refused}", *options)
    lines = ended.stdout.decode().splitlines()
    assert len(lines) == 3 * 4 + 1 + 4
    assert lines[-1].split() == [refused, "3", "0", "100%", "failed", "-", "-", "-", "-"]
    ended = kctl("probe", "-b", f"{bootstrap},{refused}", *options, "--output", "jsonl")
    summaries = [one for one in _objects(ended.stdout) if one["event"] == "summary"]
    assert [summary["round"] for summary in summaries] == [1, 2, 3]
    assert [(one["sent"], one["ok"], one["loss"]) for one in summaries[-1]["statistics"]] == [(3, 3, 0)] * 3 + [
        (3, 0, 1)
    ]


def test_a_repeated_probe_that_is_interrupted_still_shows_its_statistics(bootstrap: str) -> None:
    with running("probe", "-b", bootstrap, "--watch", "--interval", "1h") as process:
        assert process.stdout is not None
        first = [process.stdout.readline() for _ in range(3)]
        ended = end(process, signal.SIGINT)
    assert all(line.startswith(b"round 1  ") for line in first)
    assert ended.code == ExitCode.SIGINT
    lines = ended.stdout.decode().splitlines()
    assert lines[0].split()[:3] == ["ADDRESS", "SENT", "OK"]
    assert [line.split()[1:4] for line in lines[1:]] == [["1", "1", "0%"]] * 3


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--write-out", "%{hots}"), "did you mean %{host}?"),
        (("--write-out", "x", "--output", "json"), "cannot be combined with --output"),
        (("--resolve", "a:b"), "use host:port:ip"),
        (("--count", "0"), "0 is out of range: use 1 or more"),
        (("--idle", "5"), "has no unit"),
        (("--output", "xml"), "xml"),
    ],
)
def test_options_that_make_no_sense(options: tuple[str, ...], words: str) -> None:
    ended = kctl("probe", "-b", "127.0.0.1:1", *options)
    assert (ended.code, ended.stdout) == (ExitCode.USAGE, b"")
    assert words in ended.stderr


def test_mechanisms_are_listed_also_where_ours_is_refused(tmp_path: Path) -> None:
    users = SaslUsers({"alice": "secret"}, mechanisms=("SCRAM-SHA-256",))
    config = tmp_path / "client.properties"
    config.write_text(
        "sasl.mechanism=PLAIN\nsasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required "
        'username="alice" password="secret";\n'
    )
    with Sandbox(nodes=1, security=ListenerSecurity(users=users)).serve() as served:
        arguments = ("-b", served.bootstrap, "--command-config", str(config), "--security-protocol", "SASL_PLAINTEXT")
        ended = kctl("probe", *arguments)
    assert ended.code == ExitCode.AUTHENTICATION
    assert f"sasl {served.bootstrap}: offers SCRAM-SHA-256" in ended.stdout.decode()
