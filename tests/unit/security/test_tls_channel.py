"""Two TLS channels back to back in memory: what they agree on, and every way in which they do not."""

import ssl
from pathlib import Path

import pytest

from kctl.client.errors import (
    CertificateExpired,
    CertificateNotYetValid,
    ClientCertificateRefused,
    HostnameMismatch,
    NoCommonTls,
    RemoteProtocolError,
    TlsAlert,
    TlsClosed,
    TlsError,
    UntrustedCertificate,
)
from kctl.client.security.tls import TlsChannel, TlsSettings, server_context
from tests.unit.security.certificates import Authority

CLOSE_NOTIFY = b"\x15\x03\x03\x00\x02\x01\x00"
"""The alert in a record of its own, as it goes before there are keys."""
BAD_RECORD = "bad record mac|record layer failure"
"""OpenSSL 3.0 and 3.5."""


def pair(
    settings: TlsSettings, server: ssl.SSLContext, host: str = "localhost", verify: bool = True
) -> tuple[TlsChannel, TlsChannel]:
    return TlsChannel(settings.context(verify=verify), host), TlsChannel(server, server_side=True)


def shake(client: TlsChannel, server: TlsChannel, chunk: int = 1 << 20) -> None:
    """Carry bytes to and fro until both are done; whatever a side raises comes out."""
    for _ in range(6):
        done = client.handshake()
        carry(client, server, chunk)
        done = server.handshake() and done
        carry(server, client, chunk)
        if done:
            return
    raise AssertionError("the handshake does not end")


def carry(sender: TlsChannel, receiver: TlsChannel, chunk: int = 1 << 20) -> None:
    data = sender.pending_out()
    for start in range(0, len(data), chunk):
        receiver.receive(data[start : start + chunk])


@pytest.fixture
def trusting(authority: Authority) -> TlsSettings:
    return TlsSettings(trusted_pem=authority.pem)


@pytest.mark.parametrize("newest", ["TLSv1.2", "TLSv1.3"])
@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "::1", "localhost."])
def test_bytes_arrive_as_they_were_sent(authority: Authority, broker_pem: str, newest: str, host: str) -> None:
    client, server = pair(TlsSettings(authority.pem, newest=newest), server_context(broker_pem), host)
    shake(client, server)
    assert client.is_established
    assert client.version == server.version == newest
    assert client.cipher == server.cipher != ""
    for size in (1, 5000, 3_000_000):
        data = bytes(range(256)) * (size // 256 + 1)
        client.write(data)
        carry(client, server)
        assert server.read() == data
        server.write(memoryview(data))
        carry(server, client)
        assert client.read() == data
    assert client.read() == b""
    assert not client.is_closed_by_peer


def test_bytes_may_come_one_by_one(trusting: TlsSettings, broker_pem: str) -> None:
    client, server = pair(trusting, server_context(broker_pem))
    shake(client, server, chunk=1)
    client.write(b"hello")
    carry(client, server, chunk=1)
    assert server.read() == b"hello"


def test_channel_after_close_notify_has_the_last_bytes_and_is_closed_by_the_peer(
    trusting: TlsSettings, broker_pem: str
) -> None:
    client, server = pair(trusting, server_context(broker_pem))
    shake(client, server)
    server.write(b"last")
    server.shutdown()
    carry(server, client)
    assert client.read() == b"last"
    assert client.read() == b""
    assert client.is_closed_by_peer


def test_peer_chain_has_the_certificate_of_the_server(trusting: TlsSettings, broker_pem: str) -> None:
    client, server = pair(trusting, server_context(broker_pem))
    assert client.peer_chain() == ()
    shake(client, server)
    leaf = client.peer_chain()[0]
    assert (leaf.subject, leaf.issuer, leaf.not_before, leaf.not_after) == (
        "CN=localhost",
        "CN=test-ca",
        "2020-01-01",
        "2090-01-01",
    )
    assert leaf.names == ("localhost", "127.0.0.1", "0:0:0:0:0:0:0:1")
    assert server.peer_chain() == ()


def test_an_expired_certificate(trusting: TlsSettings, authority: Authority) -> None:
    pem = authority.issue("expired.example", ends="20200201000000Z")
    client, server = pair(trusting, server_context(pem + authority.pem))
    with pytest.raises(
        CertificateExpired, match=r"^certificate expired 2020-02-01 \(CN=expired.example, issuer CN=test-ca\)$"
    ) as caught:
        shake(client, server)
    assert caught.value.presented == ("CN=expired.example, issuer CN=test-ca", "CN=test-ca, issuer CN=test-ca")
    assert not caught.value.retriable
    with pytest.raises(CertificateExpired):
        client.handshake()
    carry(client, server)
    with pytest.raises(ClientCertificateRefused, match="certificate expired"):
        server.handshake()


def test_a_certificate_that_is_not_valid_yet(trusting: TlsSettings, authority: Authority) -> None:
    pem = authority.issue("early.example", begins="20890101000000Z")
    with pytest.raises(CertificateNotYetValid, match=r"valid only from 2089-01-01 \(CN=early.example"):
        shake(*pair(trusting, server_context(pem)))


@pytest.mark.parametrize("host", ["broker1.example", "10.0.0.1"])
def test_a_certificate_for_another_host(trusting: TlsSettings, authority: Authority, host: str) -> None:
    pem = authority.issue("other", names="DNS:a.example,DNS:*.b.example,IP:10.0.0.2")
    with pytest.raises(
        HostnameMismatch, match=rf"certificate is for a.example, \*.b.example, 10.0.0.2, not for {host}"
    ):
        shake(*pair(trusting, server_context(pem), host))


def test_address_that_is_a_dns_name_of_the_certificate_is_named_as_such(
    trusting: TlsSettings, authority: Authority
) -> None:
    pem = authority.issue("other", names="DNS:10.0.0.1")
    with pytest.raises(HostnameMismatch, match=r"has 10\.0\.0\.1 as a DNS name but not as an IP address") as caught:
        shake(*pair(trusting, server_context(pem), "10.0.0.1"))
    assert "identification.algorithm" not in caught.value.hint


def test_any_host_where_the_check_is_off(authority: Authority) -> None:
    pem = authority.issue("elsewhere", names="DNS:a.example")
    client, server = pair(TlsSettings(authority.pem, checks_hostname=False), server_context(pem), "b.example")
    shake(client, server)
    assert client.is_established


def test_an_unknown_issuer(broker_pem: str, tmp_path: Path) -> None:
    other = Authority(tmp_path / "other", "other-ca")
    with pytest.raises(
        UntrustedCertificate, match=r"certificate of CN=localhost is not trusted: issuer CN=test-ca is unknown here"
    ):
        shake(*pair(TlsSettings(other.pem), server_context(broker_pem)))


def test_looking_without_verifying(broker_pem: str, tmp_path: Path) -> None:
    other = Authority(tmp_path / "other", "other-ca")
    client, server = pair(TlsSettings(other.pem), server_context(broker_pem), "wrong.example", verify=False)
    shake(client, server)
    assert client.peer_chain()[0].subject == "CN=localhost"


@pytest.mark.parametrize("newest", ["TLSv1.2", "TLSv1.3"])
def test_a_client_certificate_that_is_missing(authority: Authority, broker_pem: str, newest: str) -> None:
    client, server = pair(
        TlsSettings(authority.pem, newest=newest), server_context(broker_pem, client_ca_pem=authority.pem)
    )
    with pytest.raises(ClientCertificateRefused, match="did not send the required certificate"):
        shake(client, server)
    carry(server, client)
    # In TLS 1.3 the alert comes only after our side of the handshake is done.
    with pytest.raises(TlsAlert) as caught:
        client.read() if newest == "TLSv1.3" else client.handshake()
    if newest == "TLSv1.3":
        assert type(caught.value) is ClientCertificateRefused
        assert str(caught.value) == "the broker requires a client certificate, but the client sent none"
    else:
        assert "or a client certificate is required" in str(caught.value)
    assert "ssl.keystore.location" in caught.value.hint


def test_a_client_certificate_is_presented(authority: Authority, broker_pem: str) -> None:
    key = authority.issue("alice", names="", password="hunter2")
    settings = TlsSettings(authority.pem, key_pem=key, key_password="hunter2")
    client, server = pair(settings, server_context(broker_pem, client_ca_pem=authority.pem))
    shake(client, server)
    assert server.peer_chain()[0].subject == "CN=alice"


def test_no_version_in_common(authority: Authority, broker_pem: str) -> None:
    client, server = pair(TlsSettings(authority.pem, newest="TLSv1.2"), server_context(broker_pem, oldest="TLSv1.3"))
    with pytest.raises(NoCommonTls, match="no TLS version in common"):
        shake(client, server)
    carry(server, client)
    with pytest.raises(NoCommonTls, match="TLS alert 'protocol version'"):
        client.handshake()


def test_no_cipher_in_common(authority: Authority, broker_pem: str) -> None:
    settings = TlsSettings(authority.pem, newest="TLSv1.2", ciphers="ECDHE-ECDSA-AES128-GCM-SHA256")
    client, server = pair(settings, server_context(broker_pem, ciphers="ECDHE-ECDSA-AES256-GCM-SHA384"))
    with pytest.raises(NoCommonTls, match="no cipher suite in common"):
        shake(client, server)
    carry(server, client)
    with pytest.raises(TlsAlert, match="no common cipher suite") as caught:
        client.handshake()
    assert caught.value.alert == "handshake failure"


@pytest.mark.parametrize(
    "first", [b"HTTP/1.1 400 Bad Request\r\n\r\n", b"SSH-2.0-x\r\n", b"\0\0\0\x10kafka", b"\x16\x01"]
)
def test_a_peer_that_does_not_speak_tls(trusting: TlsSettings, broker_pem: str, first: bytes) -> None:
    client, _ = pair(trusting, server_context(broker_pem))
    client.handshake()
    with pytest.raises(RemoteProtocolError, match="does not use TLS") as caught:
        client.receive(first)
    assert caught.value.first_bytes == first


def test_handshake_that_the_peer_ends_by_close_notify_raises_tls_closed(trusting: TlsSettings, broker_pem: str) -> None:
    client, _ = pair(trusting, server_context(broker_pem))
    assert not client.handshake()
    client.receive(CLOSE_NOTIFY)
    with pytest.raises(TlsClosed, match="during the TLS handshake") as caught:
        client.handshake()
    assert "PLAINTEXT" in caught.value.hint
    assert caught.value.retriable


def test_a_damaged_record_is_an_error_after_what_came_before_it(trusting: TlsSettings, broker_pem: str) -> None:
    client, server = pair(trusting, server_context(broker_pem))
    shake(client, server)
    client.read()
    server.write(b"good")
    good = server.pending_out()
    server.write(b"bad")
    bad = bytearray(server.pending_out())
    bad[-1] ^= 1
    client.check()
    client.receive(good + bad)
    assert client.read() == b"good"
    with pytest.raises(TlsError, match=BAD_RECORD):
        client.check()
    with pytest.raises(TlsError, match=BAD_RECORD):
        client.read()


def test_nothing_is_written_in_the_clear(trusting: TlsSettings, broker_pem: str) -> None:
    client, _ = pair(trusting, server_context(broker_pem))
    with pytest.raises(TlsError, match="before the TLS handshake"):
        client.write(b"secret")


@pytest.mark.parametrize("host", [".", "a" * 64 + ".example", "a\0b", ".example"])
def test_a_name_that_cannot_be_one(trusting: TlsSettings, host: str) -> None:
    context = trusting.context()
    with pytest.raises(TlsError, match="is not a valid host name for certificates"):
        TlsChannel(context, host)
