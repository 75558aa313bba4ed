"""Wrong peers by their first bytes, and what is said of failures."""

import errno

import pytest

from kctl.client.errors import (
    ConnectionLost,
    ConnectionRefused,
    ConnectTimeout,
    RemoteProtocolError,
    TransportError,
    WrongPeerError,
)
from kctl.client.events import Phase, Target
from kctl.client.network import connect_errors
from kctl.client.network.peers import is_tls, name_peer

TARGET = Target(1, -1, "broker.example", 9092, "10.0.0.7:9092")


@pytest.mark.parametrize(
    ("first_bytes", "named"),
    [
        (bytes.fromhex("15030300020250"), "a TLS listener (TLS record 15 03 03 00 02 02 50)"),
        (b"HTTP/1.1 400 Bad Request\r\nServer: x\r\n", 'an HTTP server ("HTTP/1.1 400 Bad Request")'),
        (b"SSH-2.0-OpenSSH_9.2\r\n", 'an SSH server ("SSH-2.0-OpenSSH_9.2")'),
        (b"AMQP\x00\x00\x09\x01", r'an AMQP broker ("AMQP\x00\x00'),
        (b"-ERR unknown command\r\n", 'a Redis server ("-ERR unknown command")'),
        (b"220 mail.example ESMTP\r\n", 'an SMTP or FTP server ("220 mail.example ESMTP")'),
        (b"\x7f\xff\xff\xff\x00\x01", "not a Kafka broker (first bytes 7f ff ff ff 00 01)"),
    ],
)
def test_peers_are_named_with_their_evidence(first_bytes: bytes, named: str) -> None:
    assert name_peer(first_bytes).startswith(named)


def test_nothing_that_a_terminal_would_obey_is_repeated() -> None:
    assert "\x1b" not in name_peer(b"HTTP/1.1 \x1b[31mred")


def test_only_tls_is_tls() -> None:
    assert is_tls(bytes.fromhex("160303"))
    assert not is_tls(b"HTTP/1.1")


@pytest.mark.parametrize(
    ("phase", "error", "kind", "words"),
    [
        (Phase.TCP, OSError(errno.ECONNREFUSED, "x"), ConnectionRefused, "connection refused (RST after 3 ms)"),
        (Phase.TCP, OSError(errno.EHOSTUNREACH, "x"), ConnectionRefused, "host unreachable"),
        (Phase.TCP, OSError(errno.ENETUNREACH, "x"), ConnectionRefused, "network unreachable"),
        (Phase.TCP, OSError(errno.ETIMEDOUT, "x"), ConnectTimeout, "gave up connecting after 3 ms"),
        (Phase.TCP, OSError(errno.EMFILE, "Too many open files"), ConnectionRefused, "Too many open files"),
        (Phase.TLS, None, ConnectionLost, "the peer closed the connection after 3 ms"),
        (Phase.APIVERSIONS, OSError(errno.ECONNRESET, "x"), ConnectionLost, "the peer reset the connection after 3 ms"),
        (Phase.READY, OSError(errno.ETIMEDOUT, "x"), ConnectionLost, "unacknowledged"),
    ],
)
def test_an_end_has_a_kind_a_phase_and_a_place(
    phase: Phase, error: OSError | None, kind: type[TransportError], words: str
) -> None:
    found = connect_errors.lost(TARGET, phase, 3, error, b"")
    assert type(found) is kind
    assert words in str(found)
    assert str(found).startswith("broker.example:9092 [10.0.0.7]: ")
    assert (found.phase, found.host, found.port) == (phase.value, "broker.example", 9092)


def test_what_a_peer_said_before_it_closed_names_it() -> None:
    found = connect_errors.lost(TARGET, Phase.APIVERSIONS, 3, None, b"-ERR\r\n")
    assert isinstance(found, WrongPeerError)
    assert "Redis" in str(found)


def test_bad_bytes_of_a_ready_broker_are_its_own_fault_not_a_wrong_peer() -> None:
    error = RemoteProtocolError("frame of -1 bytes", api="Fetch", first_bytes=b"\xff\xff\xff\xff")
    assert isinstance(connect_errors.bad_bytes(TARGET, Phase.APIVERSIONS, error), WrongPeerError)
    assert connect_errors.bad_bytes(TARGET, Phase.READY, error) is error
    assert str(error).startswith("broker.example:9092")
