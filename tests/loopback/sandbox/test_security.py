"""TLS and SASL listeners on real sockets, with the standard library as the client."""

import socket
import ssl

import pytest

from kctl.client.protocol.api.api_versions import ApiVersionsRequest, ApiVersionsResponse
from kctl.client.protocol.api.metadata import MetadataRequest, MetadataResponse
from kctl.client.protocol.api.sasl import (
    SaslAuthenticateRequest,
    SaslAuthenticateResponse,
    SaslHandshakeRequest,
    SaslHandshakeResponse,
)
from kctl.client.security.tls import TlsChannel, server_context
from kctl.sandbox import Fault, ListenerSecurity, Sandbox
from kctl.sandbox.identity import SaslUsers
from kctl.sandbox.server import ServedSandbox
from tests.loopback.sandbox.peer import PATIENCE_S, Peer
from tests.support.frames import encode_request
from tests.support.kafka.certificates import Certificates, make_certificates
from tests.support.kafka.requirements import have

DAMAGED_RECORD = b"\x17\x03\x03\x00\x20" + b"x" * 32


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    folder = tmp_path_factory.mktemp("certificates")
    return have(lambda: make_certificates(folder))


class TlsPeer(Peer):
    """A peer that trusts the CA, and may show a certificate."""

    def __init__(self, served: ServedSandbox, certificates: Certificates, *, shows_certificate: bool = False) -> None:
        super().__init__(served.listens_on(1))
        context = ssl.create_default_context(cafile=str(certificates.ca))
        if shows_certificate:
            context.load_cert_chain(certificates.client)
        self.socket = context.wrap_socket(self.socket, server_hostname="127.0.0.1")


def _serve(certificates: Certificates, *, users: SaslUsers | None = None, mutual: bool = False) -> ServedSandbox:
    client_ca = certificates.ca.read_text() if mutual else None
    context = server_context(certificates.broker.read_text(), client_ca_pem=client_ca)
    return Sandbox(nodes=1, topics={"t": 1}, security=ListenerSecurity(context, users)).serve()


def test_tls(certificates: Certificates) -> None:
    with _serve(certificates) as served, TlsPeer(served, certificates) as peer:
        for _ in range(3):
            peer.call(MetadataRequest(topics=None), MetadataResponse, 9)


def test_a_peer_without_tls_is_turned_away(certificates: Certificates) -> None:
    with _serve(certificates) as served:
        with Peer(served.listens_on(1)) as peer:
            peer.send(ApiVersionsRequest(), 0)
            assert peer.exactly(2) == b"\x15\x03", "an alert"
            peer.exactly(5)
            assert peer.is_closed()
        assert served.sandbox.listeners[1].refused[-1].startswith("the first bytes are not TLS: b'\\x00")
        with TlsPeer(served, certificates) as peer:
            peer.call(ApiVersionsRequest(), ApiVersionsResponse, 0)


def test_a_damaged_record_behind_a_request_ends_that_connection_alone(certificates: Certificates) -> None:
    with _serve(certificates) as served:
        with Peer(served.listens_on(1)) as peer:
            channel = TlsChannel(ssl.create_default_context(cafile=str(certificates.ca)), "127.0.0.1")
            while not channel.handshake():
                peer.socket.sendall(channel.pending_out())
                channel.receive(peer.socket.recv(65536))
            channel.write(encode_request(MetadataRequest(topics=None), 9, 1, None))
            peer.socket.sendall(channel.pending_out() + DAMAGED_RECORD)
            while received := peer.socket.recv(65536):
                channel.receive(received)
        refused = served.sandbox.listeners[1].refused[-1]
        assert "bad record mac" in refused or "record layer failure" in refused  # OpenSSL 3.0, and 3.5
        with TlsPeer(served, certificates) as peer:
            peer.call(MetadataRequest(topics=None), MetadataResponse, 9)


def test_mutual_tls(certificates: Certificates) -> None:
    with _serve(certificates, mutual=True) as served:
        with TlsPeer(served, certificates, shows_certificate=True) as peer:
            peer.call(ApiVersionsRequest(), ApiVersionsResponse, 0)
        with TlsPeer(served, certificates) as peer, pytest.raises(ssl.SSLError, match="CERTIFICATE_REQUIRED"):
            peer.call(ApiVersionsRequest(), ApiVersionsResponse, 0)


def test_sasl_over_tls(certificates: Certificates) -> None:
    users = SaslUsers({"alice": "secret"})
    with _serve(certificates, users=users) as served, TlsPeer(served, certificates) as peer:
        peer.call(SaslHandshakeRequest(mechanism="PLAIN"), SaslHandshakeResponse, 1)
        token = SaslAuthenticateRequest(auth_bytes=b"\0alice\0secret")
        assert peer.call(token, SaslAuthenticateResponse, 2).error_code == 0
        peer.call(MetadataRequest(topics=None), MetadataResponse, 9)


def test_silence_hangs_the_tls_handshake(certificates: Certificates) -> None:
    with _serve(certificates) as served:
        served.sandbox.start_fault(1, Fault.SILENCE)
        context = ssl.create_default_context(cafile=str(certificates.ca))
        with socket.create_connection(served.listens_on(1), timeout=PATIENCE_S) as sock:
            sock.settimeout(0.25)
            with pytest.raises(TimeoutError):
                context.wrap_socket(sock, server_hostname="127.0.0.1")
