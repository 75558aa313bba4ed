"""Peers that are no brokers: every command names them, and none lets them take memory before they are ready."""

import socket

import pytest

from kctl.cli.exit_codes import ExitCode
from kctl.client.network.connection import BEFORE_READY_MAX_BYTES
from kctl.sandbox import ListenerSecurity, Sandbox
from kctl.sandbox.identity import SaslUsers
from tests.cli.processes import kctl
from tests.support.faults import peers

COMMANDS = (("probe",), ("topics", "list"))
LIMITS = ("--connect-timeout", "2s", "--api-timeout", "4s")


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("protocol", ["PLAINTEXT", "SSL"])
def test_ssh_server_is_named_by_every_command(command: tuple[str, ...], protocol: str) -> None:
    with peers.greets(b"SSH-2.0-OpenSSH_9.2p1\r\n") as address:
        ended = kctl(*command, "-b", address, *LIMITS, "--security-protocol", protocol)
    assert ended.code == ExitCode.WRONG_PROTOCOL
    assert "the server is an SSH server" in ended.stderr


@pytest.mark.parametrize("command", COMMANDS)
def test_peer_that_sends_less_than_a_frame_is_named_when_its_time_is_up(command: tuple[str, ...]) -> None:
    with peers.greets(b"SSH") as address:
        ended = kctl(*command, "-b", address, *LIMITS)
    assert ended.code == ExitCode.WRONG_PROTOCOL, ended.stderr
    assert "not a Kafka broker (first bytes 53 53 48)" in ended.stderr.replace("\n", " ")


@pytest.mark.parametrize("command", COMMANDS)
def test_frame_above_512_kb_is_refused_before_a_node_is_ready(command: tuple[str, ...]) -> None:
    def answer_at_length(connection: socket.socket) -> None:
        connection.recv(4096)
        connection.sendall((BEFORE_READY_MAX_BYTES + 1).to_bytes(4, "big") + bytes(4))
        connection.recv(1)  # until it hangs up

    with peers.talking(answer_at_length) as address:
        ended = kctl(*command, "-b", address, *LIMITS)
    assert ended.code == ExitCode.WRONG_PROTOCOL, ended.stderr
    assert "frame size 524289 bytes" in ended.stderr.replace("\n", " ")


@pytest.mark.parametrize("command", [("topics", "list"), ("consume", "t", "-e"), ("groups", "list")])
def test_tls_client_of_a_plaintext_listener_ends_after_two_attempts(bootstrap: str, command: tuple[str, ...]) -> None:
    ended = kctl(*command, "-b", bootstrap, "--security-protocol", "SSL", "--api-timeout", "100s")
    assert ended.code == ExitCode.WRONG_PROTOCOL
    assert "no bootstrap server accepted a connection after 2 attempts" in ended.stderr
    assert "probably a plaintext listener" in ended.stderr


@pytest.mark.parametrize("command", [("topics", "list"), ("consume", "t", "-e")])
def test_client_without_login_of_a_sasl_listener_ends_after_two_attempts(command: tuple[str, ...]) -> None:
    with Sandbox(security=ListenerSecurity(users=SaslUsers({"ann": "secret"}))).serve() as served:
        ended = kctl(*command, "-b", served.bootstrap, "--api-timeout", "100s")
    assert ended.code == ExitCode.AUTHENTICATION
    assert "after 2 attempts" in ended.stderr
    assert "hint: use SASL, which the listener probably requires" in ended.stderr
