"""The peers that the deadline benchmarks talk to: what is wrong with each, and which words name it.

All are on loopback. The words decide only whether an error counts as naming its cause; they are the same for every
client.
"""

import contextlib
import socket
import struct
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from kctl.client.protocol.api.api_versions import ApiVersion, ApiVersionsRequest, ApiVersionsResponse
from kctl.client.protocol.api.metadata import MetadataRequest
from kctl.client.protocol.api.sasl import SaslAuthenticateRequest, SaslHandshakeRequest
from kctl.client.protocol.framing import FrameReader, encode_response
from kctl.client.security.tls import server_context
from kctl.sandbox import Fault, ListenerSecurity, Sandbox
from kctl.sandbox.identity import SaslUsers
from tests.support.faults import peers
from tests.support.kafka.certificates import make_certificates

SPOKEN = (ApiVersionsRequest, MetadataRequest, SaslHandshakeRequest, SaslAuthenticateRequest)
HALF_A_FRAME = b"\0\0\0\x40\0\0"
HALF_A_SERVER_HELLO = bytes.fromhex("160303007a02")


class Case(NamedTuple):
    """A peer with a fault, and how clients are to talk to it."""

    name: str
    peer: peers.Peer
    names_it: str
    """A pattern that an error matches when it names the cause."""
    security: str = "PLAINTEXT"
    silent_resolver: bool = False
    """The name is never resolved; only a client that takes a resolver can be shown that."""


def stalls_after_versions() -> contextlib.AbstractContextManager[str]:
    """Answers ApiVersions and nothing after it."""

    def talk(connection: socket.socket) -> None:
        frames = FrameReader(1 << 20)
        while data := connection.recv(4096):
            for frame in frames.feed(data):
                api_key, version, correlation_id = struct.unpack_from(">hhi", frame)
                if api_key == ApiVersionsRequest.API_KEY:
                    connection.sendall(encode_response(_versions(), version, correlation_id))

    return peers.talking(talk)


def _versions() -> ApiVersionsResponse:
    keys = [ApiVersion(api_key=api.API_KEY, min_version=0, max_version=api.VALID_VERSIONS[1]) for api in SPOKEN]
    return ApiVersionsResponse(api_keys=keys)


@contextlib.contextmanager
def frozen_node() -> Iterator[str]:
    """A sandbox node that stands still, as a broker that was stopped."""
    with Sandbox(nodes=1).serve() as served:
        served.sandbox.start_fault(1, Fault.FREEZE)
        yield served.bootstrap


@contextlib.contextmanager
def untrusted_node() -> Iterator[str]:
    """A TLS node whose certificate nobody issued that the client knows."""
    with tempfile.TemporaryDirectory() as folder:
        certificate = make_certificates(Path(folder)).broker.read_text()
    with Sandbox(nodes=1, security=ListenerSecurity(tls=server_context(certificate))).serve() as served:
        yield served.bootstrap


@contextlib.contextmanager
def node_with_passwords() -> Iterator[str]:
    """A node that knows the user by another password."""
    with Sandbox(nodes=1, security=ListenerSecurity(users=SaslUsers({"alice": "secret"}))).serve() as served:
        yield served.bootstrap


@contextlib.contextmanager
def nobody() -> Iterator[str]:
    yield "nobody:9092"


@contextlib.contextmanager
def unresolved() -> Iterator[str]:
    yield "never-answered.invalid:9092"


def stalls_with(beginning: bytes) -> contextlib.AbstractContextManager[str]:
    """Answers with the beginning of something and no more."""
    return peers.answers(beginning, close=False)


NO_CONNECTION = r"SYN|state CONNECT|setup time"
NO_ANSWER = r"ApiVersion|APIVERSION|no answer|setup time"
NO_TLS = r"TLS|SSL|handshake"

API_DEADLINE = (
    Case("SYN blackholed", peers.blackhole, NO_CONNECTION),
    Case("refused", peers.refused, "refused"),
    Case("accepts, silent", peers.silent, NO_ANSWER),
    Case("closes at once", peers.closes_at_once, "closed|disconnect|reset"),
    Case("resets", peers.resets, "reset"),
    Case("TLS: silent", peers.silent, NO_TLS, "SSL"),
    Case("TLS: closes", peers.closes_after_bytes, NO_TLS, "SSL"),
    Case("stalls on Metadata", stalls_after_versions, "Metadata answer"),
    Case("frozen node", frozen_node, NO_ANSWER),
    Case("DNS silent", unresolved, "DNS", silent_resolver=True),
)
CONNECT_LIMIT = (
    Case("SYN blackholed", peers.blackhole, NO_CONNECTION),
    Case("accepts, silent", peers.silent, NO_ANSWER),
    Case("half an answer", lambda: stalls_with(HALF_A_FRAME), NO_ANSWER),
    Case("TLS: silent", peers.silent, NO_TLS, "SSL"),
    Case("TLS: half a hello", lambda: stalls_with(HALF_A_SERVER_HELLO), NO_TLS, "SSL"),
    Case("stalls on SASL", stalls_after_versions, "SASL|AUTH", "SASL_PLAINTEXT"),
    Case("frozen node", frozen_node, NO_ANSWER),
    Case("DNS silent", unresolved, "DNS", silent_resolver=True),
)
PERMANENT = (
    Case("plaintext to TLS", lambda: peers.answers(peers.TLS_ALERT), NO_TLS),
    Case("HTTP", lambda: peers.answers(peers.HTTP_ANSWER), "HTTP"),
    Case("SSH", lambda: peers.greets(peers.SSH_GREETING), "SSH"),
    Case("huge frame", lambda: peers.answers(peers.HUGE_FRAME), r"2147483647|frame|size|message\.max"),
    Case("untrusted certificate", untrusted_node, "certif|trust|PKIX", "SSL"),
    Case("wrong password", node_with_passwords, "password|authent|credential", "SASL_PLAINTEXT"),
)
NOBODY = Case("a bare wait", nobody, "")
