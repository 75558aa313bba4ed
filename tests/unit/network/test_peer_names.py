"""Wrong peers by their first bytes, and what is said of failures."""

import errno

import pytest

from kctl.client.errors import (
    AuthenticationError,
    ConnectionLost,
    ConnectionRefused,
    ConnectTimeout,
    DnsError,
    RemoteProtocolError,
    RequestTimeout,
    TlsNotAnswered,
    TransportError,
    UnsupportedVersionError,
    WrongPeerError,
)
from kctl.client.events import Phase, Target
from kctl.client.network import connect_errors
from kctl.client.network.connect_errors import is_tls, name_peer
from kctl.client.protocol.versions import NodeVersions

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
        (
            b"\x7f\xff\xff\xff\x00\x01",
            "not a Kafka broker (frame size 2147483647 bytes, first bytes 7f",
        ),
        (b"\xff\xff", "not a Kafka broker (first bytes ff ff)"),
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
        (Phase.TCP, OSError(errno.ETIMEDOUT, "x"), ConnectTimeout, "stopped the connection attempt after 3 ms"),
        (Phase.TCP, OSError(errno.ECONNRESET, "x"), ConnectionLost, "the server reset the connection after 3 ms"),
        (Phase.TCP, OSError(errno.EMFILE, "Too many open files"), ConnectionRefused, "Too many open files"),
        (Phase.TLS, None, ConnectionLost, "the server closed the connection after 3 ms"),
        (
            Phase.APIVERSIONS,
            OSError(errno.ECONNRESET, "x"),
            ConnectionLost,
            "the server reset the connection after 3 ms",
        ),
        (Phase.READY, OSError(errno.ETIMEDOUT, "x"), ConnectionLost, "the server did not acknowledge sent data"),
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


@pytest.mark.parametrize("error", [None, OSError(errno.ECONNRESET, "x")])
def test_a_peer_that_hangs_up_on_the_first_words_of_tls_may_be_plaintext(error: OSError | None) -> None:
    found = connect_errors.no_word_in_tls(TARGET, 3, error)
    assert isinstance(found, TlsNotAnswered)
    assert found.retriable
    assert "after 3 ms during the TLS handshake: probably a plaintext listener [phase tls]" in str(found)
    assert "PLAINTEXT" in found.hint


def test_a_system_error_in_tls_is_no_sign_of_plaintext() -> None:
    found = connect_errors.no_word_in_tls(TARGET, 3, OSError(errno.ETIMEDOUT, "x"))
    assert type(found) is ConnectionLost


def test_the_error_of_the_node_that_got_furthest_is_first() -> None:
    def at(phase: Phase, error: TransportError) -> TransportError:
        return connect_errors.located(TARGET, phase, error)

    slow = ConnectTimeout("slow", limit_ms=1, elapsed_ms=1)
    errors = [
        at(Phase.DNS, DnsError("x")),
        at(Phase.TCP, ConnectionRefused("x")),
        at(Phase.TCP, slow),
        at(Phase.APIVERSIONS, ConnectionLost("x")),
        at(Phase.APIVERSIONS, WrongPeerError("x")),
        at(Phase.SASL, AuthenticationError("x")),
        RequestTimeout("x", timeout_ms=1, elapsed_ms=1),
    ]
    assert connect_errors.furthest_first(errors) == errors[::-1]


def test_bytes_of_a_server_before_it_closed_name_its_protocol() -> None:
    found = connect_errors.lost(TARGET, Phase.APIVERSIONS, 3, None, b"-ERR\r\n")
    assert isinstance(found, WrongPeerError)
    assert "Redis" in str(found)


def test_bad_bytes_of_a_ready_broker_are_its_own_fault_not_a_wrong_peer() -> None:
    error = RemoteProtocolError("frame of -1 bytes", api="Fetch", first_bytes=b"\xff\xff\xff\xff")
    assert isinstance(connect_errors.bad_bytes(TARGET, Phase.APIVERSIONS, error), WrongPeerError)
    assert connect_errors.bad_bytes(TARGET, Phase.READY, error) is error
    assert str(error).startswith("broker.example:9092")


def test_a_node_without_metadata_is_a_controller_and_any_other_lack_names_the_node() -> None:
    versions = NodeVersions({18: (0, 4), 3: (0, 1)}, {})
    lacking = NodeVersions({18: (0, 4)}, {})

    def error(api: str) -> UnsupportedVersionError:
        return UnsupportedVersionError(f"{api}: versions 4 to 12 are needed", api=api)

    controller = connect_errors.not_spoken(TARGET, error("Metadata"), lacking)
    assert isinstance(controller, WrongPeerError)
    assert str(controller) == (
        "broker.example:9092 [10.0.0.7]: the server is a KRaft controller, which does not support Metadata requests "
        "[phase metadata]"
    )
    assert controller.hint == "connect to a broker listener"
    for found in (
        connect_errors.not_spoken(TARGET, error("Metadata"), versions),
        connect_errors.not_spoken(TARGET, error("Produce"), lacking),
    ):
        assert isinstance(found, UnsupportedVersionError)
        assert str(found).startswith("broker.example:9092 [10.0.0.7]: ")
