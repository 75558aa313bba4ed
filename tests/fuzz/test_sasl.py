"""Garbage from the other side gives AuthenticationError and nothing else; garbage in JAAS gives ConfigError."""

from random import Random

from hypothesis import given
from hypothesis import strategies as st

from kctl.client.errors import AuthenticationError, ConfigError
from kctl.client.security.jaas import read_jaas
from kctl.client.security.sasl.oauthbearer import OauthBearerClient, Token
from kctl.client.security.sasl.plain import PlainClient
from kctl.client.security.sasl.scram import ScramClient
from kctl.sandbox.sasl import (
    OauthBearerServer,
    PlainServer,
    SaslServer,
    ScramCredential,
    ScramServer,
    unsecured_user,
)

CREDENTIAL = ScramCredential.from_password("SCRAM-SHA-256", "secret", b"salt", 4096)


class Seeded:
    def __init__(self, seed: int) -> None:
        self._rng = Random(seed)

    def token_bytes(self, count: int) -> bytes:
        return self._rng.randbytes(count)


def client() -> ScramClient:
    return ScramClient("SCRAM-SHA-256", "alice", "secret", Seeded(1))


def server() -> ScramServer:
    return ScramServer("SCRAM-SHA-256", {"alice": CREDENTIAL}.get, Seeded(2))


NONCE = client().first().rpartition(b"r=")[2]
PIECES = st.lists(
    st.sampled_from(
        [b"r=", NONCE, b"x", b",", b"s=", b"AAAA", b"=", b"i=", b"4096", b"9", b"v=", b"e=", b"m=", b"\xff"]
    ),
    max_size=12,
).map(b"".join)
MESSAGES = st.one_of(st.binary(max_size=80), PIECES)


@st.composite
def mutated(draw: st.DrawFn, message: bytes) -> bytes:
    """A valid message, cut, or with one byte changed."""
    at = draw(st.integers(0, len(message) - 1))
    if draw(st.booleans()):
        return message[:at]
    return message[:at] + bytes([draw(st.integers(0, 255))]) + message[at + 1 :]


SERVER_FIRST = server().step(client().first())


@given(st.one_of(MESSAGES, mutated(SERVER_FIRST)))
def test_scram_first_answer(message: bytes) -> None:
    ours = client()
    ours.first()
    try:
        answer = ours.step(message)
    except AuthenticationError:
        return
    assert answer is not None
    assert answer.startswith(b"c=biws,r=" + NONCE)
    assert not ours.complete


@given(st.data())
def test_scram_last_answer(data: st.DataObject) -> None:
    ours, theirs = client(), server()
    final = ours.step(theirs.step(ours.first()))
    assert final is not None
    true_end = theirs.step(final)
    message = data.draw(st.one_of(MESSAGES, mutated(true_end)))
    try:
        assert ours.step(message) is None
    except AuthenticationError:
        assert not ours.complete
        return
    # Only the true signature passes; base64 ignores some bits of its last letter, and extensions may follow.
    assert message.startswith(true_end[:-2])


@given(st.lists(st.one_of(MESSAGES, mutated(client().first())), max_size=3))
def test_scram_server(messages: list[bytes]) -> None:
    refused_or_waiting(server(), messages)


@given(st.lists(st.one_of(st.binary(max_size=20), st.sampled_from([b"\0a\0x", b"\0a\0bb", b"b\0a\0b"])), max_size=2))
def test_plain_server(messages: list[bytes]) -> None:
    refused_or_waiting(PlainServer({"a": "b"}), [message for message in messages if message != b"\0a\0b"])


OAUTH = OauthBearerClient(lambda: Token("e30.e30.")).first()


@given(st.lists(st.one_of(st.binary(max_size=40), mutated(OAUTH), st.just(b"\x01")), max_size=2))
def test_oauthbearer_server(messages: list[bytes]) -> None:
    refused_or_waiting(OauthBearerServer(lambda token: unsecured_user(token, 0)), messages)


def refused_or_waiting(theirs: SaslServer, messages: list[bytes]) -> None:
    try:
        for message in messages:
            theirs.step(message)
    except AuthenticationError:
        pass
    assert not theirs.done


@given(st.lists(st.binary(max_size=40), min_size=1, max_size=3))
def test_plain_and_oauthbearer_clients(challenges: list[bytes]) -> None:
    for ours in (PlainClient("a", "b"), OauthBearerClient(lambda: Token("x"))):
        ours.first()
        try:
            for challenge in challenges:
                ours.step(challenge)
        except AuthenticationError:
            continue
        assert ours.complete or challenges[0]


@given(st.text(alphabet=st.sampled_from("ab=;'\"\\ \n/*1"), max_size=30), st.booleans())
def test_jaas(text: str, has_head: bool) -> None:
    try:
        entry = read_jaas(f"a.B required {text}" if has_head else text)
    except ConfigError:
        return
    assert all(isinstance(word, str) for pair in entry.options.items() for word in pair)


@given(st.dictionaries(st.from_regex(r"[a-z]{1,8}", fullmatch=True), st.text(max_size=20)))
def test_jaas_quoting_reads_back(options: dict[str, str]) -> None:
    escapes = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n"})
    body = " ".join(f'{name}="{value.translate(escapes)}"' for name, value in options.items())
    assert read_jaas(f"x.Y required {body};").options == options
