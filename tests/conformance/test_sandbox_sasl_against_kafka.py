"""Logging in to the sandbox ends as logging in to Kafka's newest broker does: byte for byte, and for kcat as installed.

Behind a SaslHandshake of version 0 come bare tokens, a size and bytes, as clients before KIP-152 send them.
"""

import struct
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from kctl.client.protocol.api.metadata import MetadataRequest, MetadataResponse
from kctl.client.protocol.api.sasl import (
    SaslAuthenticateRequest,
    SaslAuthenticateResponse,
    SaslHandshakeRequest,
    SaslHandshakeResponse,
)
from kctl.client.security.sasl.scram import ScramClient
from kctl.sandbox import ListenerSecurity, Sandbox
from kctl.sandbox.identity import SaslUsers
from tests.conformance.foreign import CONFLUENT, KCAT, ForeignClient, ForeignClientError, ForeignRecord
from tests.loopback.sandbox.peer import Peer
from tests.support.kafka.cluster import KafkaCluster
from tests.support.kafka.requirements import have
from tests.support.kafka.security import PLAIN_PASSWORD, PLAIN_USER, SCRAM_PASSWORD, SCRAM_USER
from tests.unit.sandbox.scenario import NotRandom

pytestmark = pytest.mark.nightly

PASSWORDS = {PLAIN_USER: PLAIN_PASSWORD, SCRAM_USER: SCRAM_PASSWORD}
PLAIN_TOKEN = f"\0{PLAIN_USER}\0{PLAIN_PASSWORD}".encode()
Answer = Any


class _LoginTalk:
    """One connection that logs in; an end of the connection is the answer "closed"."""

    def __init__(self, peer: Peer) -> None:
        self._peer = peer

    def handshake(self, version: int, mechanism: str) -> Answer:
        return self._answer(
            lambda: self._peer.call(SaslHandshakeRequest(mechanism=mechanism), SaslHandshakeResponse, version)
        )

    def authenticate(self, token: bytes, version: int = 2) -> Answer:
        """A token in a request of its own, as of KIP-152."""

        def ask() -> Answer:
            answer = self._peer.call(SaslAuthenticateRequest(auth_bytes=token), SaslAuthenticateResponse, version)
            return answer.error_code, answer.error_message, answer.auth_bytes, answer.session_lifetime_ms

        return self._answer(ask)

    def token(self, token: bytes) -> Answer:
        """A bare token and the bare one that answers it."""

        def ask() -> bytes:
            self._peer.socket.sendall(struct.pack(">i", len(token)) + token)
            (size,) = struct.unpack(">i", self._peer.exactly(4))
            return self._peer.exactly(size)

        return self._answer(ask)

    def is_in(self) -> Answer:
        """Whether requests are answered now."""
        return self._answer(lambda: len(self._peer.call(MetadataRequest(topics=[]), MetadataResponse, 9).brokers))

    def is_closed(self) -> bool:
        return self._peer.is_closed()

    def _answer(self, ask: Callable[[], Answer]) -> Answer:
        try:
            return ask()
        except ConnectionError:
            return "closed"


def _mechanisms(answer: SaslHandshakeResponse) -> Answer:
    return answer.error_code, sorted(answer.mechanisms)


def _plain(talk: _LoginTalk) -> Iterator[Answer]:
    yield _mechanisms(talk.handshake(0, "PLAIN"))
    yield talk.token(PLAIN_TOKEN)
    yield talk.is_in()
    yield talk.is_in()


def _wrong_password(talk: _LoginTalk) -> Iterator[Answer]:
    yield _mechanisms(talk.handshake(0, "PLAIN"))
    yield talk.token(PLAIN_TOKEN + b"x")


def _no_token_at_all(talk: _LoginTalk) -> Iterator[Answer]:
    yield _mechanisms(talk.handshake(0, "PLAIN"))
    yield talk.token(b"")


def _a_request_in_place_of_a_token(talk: _LoginTalk) -> Iterator[Answer]:
    yield _mechanisms(talk.handshake(0, "PLAIN"))
    yield talk.is_in()


def _a_token_with_a_header(talk: _LoginTalk) -> Iterator[Answer]:
    yield _mechanisms(talk.handshake(0, "PLAIN"))
    yield talk.authenticate(PLAIN_TOKEN, 0)


def _a_bare_token_too_early(talk: _LoginTalk) -> Iterator[Answer]:
    yield _mechanisms(talk.handshake(1, "PLAIN"))
    yield talk.token(PLAIN_TOKEN)


def _unknown_mechanism(version: int) -> Callable[[_LoginTalk], Iterator[Answer]]:
    def exchange(talk: _LoginTalk) -> Iterator[Answer]:
        yield _mechanisms(talk.handshake(version, "SCRAM-MD5"))
        yield talk.is_closed()

    return exchange


def _a_second_handshake(talk: _LoginTalk) -> Iterator[Answer]:
    yield _mechanisms(talk.handshake(1, "PLAIN"))
    yield _mechanisms(talk.handshake(1, "PLAIN"))
    yield talk.is_closed()


def _another_request_amid(talk: _LoginTalk) -> Iterator[Answer]:
    yield _mechanisms(talk.handshake(1, "PLAIN"))
    yield talk.is_in()
    yield talk.is_closed()


def _again_when_in(talk: _LoginTalk) -> Iterator[Answer]:
    yield _mechanisms(talk.handshake(1, "PLAIN"))
    yield talk.authenticate(PLAIN_TOKEN)
    yield talk.handshake(1, "PLAIN").error_code
    yield talk.authenticate(PLAIN_TOKEN)[0]
    yield talk.is_in()


def _scram(
    name: str, send: Callable[[_LoginTalk, bytes], Answer], version: int, password: str
) -> Callable[[_LoginTalk], Any]:
    """Return the whole exchange; salt and nonce differ, so what the client makes of them is compared."""

    def exchange(talk: _LoginTalk) -> Iterator[Answer]:
        yield _mechanisms(talk.handshake(version, name))
        client = ScramClient(name, SCRAM_USER, password, NotRandom())
        answer = send(talk, client.first())
        final = client.step(answer)
        assert final is not None
        last = send(talk, final)
        if last == "closed" or not isinstance(last, bytes):
            yield last
            return
        yield client.step(last), client.complete
        yield talk.is_in()

    return exchange


def _bare(talk: _LoginTalk, token: bytes) -> Answer:
    return talk.token(token)


def _wrapped(talk: _LoginTalk, token: bytes) -> Answer:
    answer = talk.authenticate(token)
    return answer[2] if answer[0] == 0 else answer


def _authenticate_first(talk: _LoginTalk) -> Iterator[Answer]:
    yield talk.authenticate(PLAIN_TOKEN)


DIALOGUES: dict[str, Callable[[_LoginTalk], Iterator[Answer]]] = {
    "plain": _plain,
    "wrong password": _wrong_password,
    "no token": _no_token_at_all,
    "a request in place of a token": _a_request_in_place_of_a_token,
    "a token with a header": _a_token_with_a_header,
    "a bare token where one with a header is due": _a_bare_token_too_early,
    "unknown mechanism": _unknown_mechanism(1),
    "unknown mechanism, version 0": _unknown_mechanism(0),
    "a second handshake": _a_second_handshake,
    "another request amid": _another_request_amid,
    "again when in": _again_when_in,
    "authenticate first": _authenticate_first,
    "scram 256": _scram("SCRAM-SHA-256", _bare, 0, SCRAM_PASSWORD),
    "scram 512": _scram("SCRAM-SHA-512", _bare, 0, SCRAM_PASSWORD),
    "scram, wrong password": _scram("SCRAM-SHA-512", _bare, 0, "wrong"),
    "scram with headers": _scram("SCRAM-SHA-512", _wrapped, 1, SCRAM_PASSWORD),
    "scram with headers, wrong password": _scram("SCRAM-SHA-512", _wrapped, 1, "wrong"),
}


@pytest.fixture
def bootstraps(kafka_newest: KafkaCluster) -> Iterator[tuple[str, str]]:
    """The listeners with SASL of a sandbox and of Kafka, which have the same users."""
    security = ListenerSecurity(users=SaslUsers(PASSWORDS))
    with Sandbox(nodes=1, topics={"t": 1}, security=security).serve() as served:
        yield served.bootstrap, kafka_newest.bootstrap("SASL_PLAINTEXT")


@pytest.mark.parametrize("name", DIALOGUES)
def test_dialogues_end_as_with_kafka(bootstraps: tuple[str, str], name: str) -> None:
    told = []
    for bootstrap in bootstraps:
        host, _, port = bootstrap.rpartition(":")
        with Peer((host, int(port))) as peer:
            told.append(list(DIALOGUES[name](_LoginTalk(peer))))
    sandbox, kafka = told
    assert sandbox == kafka


def _outcome(client: ForeignClient, bootstrap: str, topic: str, properties: dict[str, str]) -> str:
    """Return "in", or the broker's own words with which the client is refused."""
    try:
        client.produce(bootstrap, topic, [ForeignRecord(b"v")], "none", properties, 4.0)
    except ForeignClientError as error:
        words = "due to invalid credentials with SASL mechanism " + properties["sasl.mechanism"]
        return words if words in str(error) else str(error)
    return "in"


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"])
@pytest.mark.parametrize("client", [KCAT, CONFLUENT], ids=lambda client: client.name)
def test_librdkafka_old_and_new(
    bootstraps: tuple[str, str], kafka_newest: KafkaCluster, client: ForeignClient, mechanism: str
) -> None:
    """Debian's kcat repeats the nonce in its proof. Kafka 4 refuses that (CVE-2024-56128), and so does the sandbox."""
    have(client.require)
    ours, kafka = bootstraps
    properties = kafka_newest.client_properties("SASL_PLAINTEXT", mechanism)
    wanted = _outcome(client, kafka, kafka_newest.create_topic(), properties)
    assert _outcome(client, ours, "t", properties) == wanted
    if mechanism == "PLAIN" or client is CONFLUENT:
        assert wanted == "in"
