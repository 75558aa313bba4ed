"""SCRAM: the example of RFC 7677, both sides against each other, and brokers that do not keep the rules."""

import hmac
from base64 import b64decode, b64encode
from random import Random

import pytest

from kctl.client.errors import AuthenticationError, ConfigError
from kctl.client.security.sasl.scram import MAX_ITERATIONS, MIN_ITERATIONS, ScramClient, derive, xor
from kctl.sandbox.sasl import ScramCredential, ScramServer

MECHANISMS = ("SCRAM-SHA-256", "SCRAM-SHA-512")
SALT = b"0123456789abcdef"


class Seeded:
    """Repeatable entropy."""

    def __init__(self, seed: int) -> None:
        self._rng = Random(seed)

    def token_bytes(self, count: int) -> bytes:
        return self._rng.randbytes(count)


class Fixed:
    """Entropy that comes out as the nonce of an RFC's example."""

    def __init__(self, nonce: str) -> None:
        self._bytes = b64decode(nonce)

    def token_bytes(self, count: int) -> bytes:
        return self._bytes


def server(mechanism: str, password: str = "secret", user: str = "alice", iterations: int = 4096) -> ScramServer:
    credential = ScramCredential.from_password(mechanism, password, SALT, iterations)
    return ScramServer(mechanism, {user: credential}.get, Seeded(2))


def client(mechanism: str, password: str = "secret", user: str = "alice") -> ScramClient:
    return ScramClient(mechanism, user, password, Seeded(1))


def test_the_example_of_rfc_7677() -> None:
    alice = ScramClient("SCRAM-SHA-256", "user", "pencil", Fixed("rOprNGfwEbeRWgbNEkqO"))
    assert alice.first() == b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO"
    final = alice.step(b"r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096")
    assert final == (
        b"c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
    )
    assert not alice.complete
    assert alice.step(b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=") is None
    assert alice.complete


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("user", ["alice", "a,b=c", "=2C", "ümlaut 名"])
def test_both_sides_agree(mechanism: str, user: str) -> None:
    ours, theirs = client(mechanism, user=user, password="pä,=ss\0"), server(mechanism, user=user, password="pä,=ss\0")
    final = ours.step(theirs.step(ours.first()))
    assert final is not None
    assert ours.step(theirs.step(final)) is None
    assert ours.complete
    assert theirs.done
    assert theirs.user == user


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_a_wrong_password_is_refused_by_the_broker(mechanism: str) -> None:
    ours, theirs = client(mechanism, password="wrong"), server(mechanism)
    final = ours.step(theirs.step(ours.first()))
    assert final is not None
    with pytest.raises(AuthenticationError, match=f"invalid credentials with SASL mechanism {mechanism}"):
        theirs.step(final)
    assert not theirs.done


def test_an_unknown_user_is_refused_by_the_broker() -> None:
    with pytest.raises(AuthenticationError, match="invalid credentials"):
        server("SCRAM-SHA-256").step(client("SCRAM-SHA-256", user="bob").first())


def test_a_proof_over_another_nonce_is_refused() -> None:
    ours, theirs = client("SCRAM-SHA-256"), server("SCRAM-SHA-256")
    challenge = theirs.step(ours.first())
    final = ours.step(challenge.replace(b",s=", b"x,s="))
    assert final is not None
    with pytest.raises(AuthenticationError, match="invalid credentials"):
        theirs.step(final)
    assert not theirs.done


def test_a_right_proof_for_another_nonce_than_the_servers_is_refused() -> None:
    theirs = server("SCRAM-SHA-256")
    first = client("SCRAM-SHA-256").first()
    transcript = first.removeprefix(b"n,,") + b"," + theirs.step(first)
    client_key, keys = derive("SCRAM-SHA-256", b"secret", SALT, 4096)
    without_proof = b"c=biws,r=" + first.rpartition(b"r=")[2]
    proof = xor(client_key, hmac.digest(keys.stored, transcript + b"," + without_proof, "sha256"))
    with pytest.raises(AuthenticationError, match="invalid credentials"):
        theirs.step(without_proof + b",p=" + b64encode(proof))


def test_a_broker_that_does_not_know_the_password_is_found_out() -> None:
    ours, theirs = client("SCRAM-SHA-256"), server("SCRAM-SHA-256")
    ours.step(theirs.step(ours.first()))
    with pytest.raises(AuthenticationError, match="did not prove that it knows the password"):
        ours.step(b"v=" + b64encode(bytes(32)))
    assert not ours.complete


@pytest.mark.parametrize("iterations", [0, 1, MIN_ITERATIONS - 1, MAX_ITERATIONS + 1, 999_999_999])
def test_iterations_out_of_bounds_are_refused_before_any_work(iterations: int) -> None:
    ours = client("SCRAM-SHA-256")
    nonce = ours.first().decode().rpartition("r=")[2]
    with pytest.raises(AuthenticationError, match=f"requires {iterations} iterations, but 4096 to 100000 are accepted"):
        ours.step(f"r={nonce}x,s={b64encode(SALT).decode()},i={iterations}".encode())


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (b"", "the first response is malformed"),
        (b"r=other,s=AAAA,i=4096", "nonce of the broker does not start with"),
        (b"r=NONCE,s=AAAA,i=4096", "nonce of the broker does not start with"),
        (b"r=NONCEx,s=A,i=4096", "malformed base64"),
        (b"r=NONCEx,s=,i=4096", "the first response is malformed"),
        (b"m=ext,r=NONCEx,s=AAAA,i=4096", "the first response is malformed"),
        (b"r=NONCEx,s=AAAA,i=-1", "the first response is malformed"),
        (b"e=other-error", "the broker reports 'other-error'"),
        (b"\xff\xfe", "not UTF-8"),
        (b"x" * 5000, "more than 4096"),
    ],
)
def test_a_bad_first_answer_is_named(answer: bytes, why: str) -> None:
    ours = client("SCRAM-SHA-256")
    nonce = ours.first().rpartition(b"r=")[2]
    with pytest.raises(AuthenticationError, match=why):
        ours.step(answer.replace(b"NONCE", nonce))


def test_refusal_that_repeats_the_password_is_told_without_it() -> None:
    ours = ScramClient("SCRAM-SHA-256", "ann", "canary-7", Seeded(1))
    assert ours.refusal("bad canary-7")[0] == "bad ***"
    with pytest.raises(AuthenticationError) as raised:
        ours.step(b"e=" + b"x" * 195 + b"canary-7")
    assert str(raised.value).endswith("x***'")


def test_the_brokers_own_refusal_is_told() -> None:
    ours, theirs = client("SCRAM-SHA-256"), server("SCRAM-SHA-256")
    ours.step(theirs.step(ours.first()))
    with pytest.raises(AuthenticationError, match="the broker reports 'invalid-proof'"):
        ours.step(b"e=invalid-proof")


def test_nothing_may_follow_the_end() -> None:
    ours, theirs = client("SCRAM-SHA-256"), server("SCRAM-SHA-256")
    final = ours.step(theirs.step(ours.first()))
    assert final is not None
    end = theirs.step(final)
    ours.step(end)
    with pytest.raises(AuthenticationError):
        ours.step(end)
    with pytest.raises(AuthenticationError):
        theirs.step(final)


def test_a_delegation_token_says_so() -> None:
    ours = ScramClient("SCRAM-SHA-256", "id", "hmac", Seeded(1), is_token=True)
    assert ours.first().endswith(b",tokenauth=true")
    theirs = server("SCRAM-SHA-256", user="id", password="hmac")
    final = ours.step(theirs.step(ours.first()))
    assert final is not None
    assert ours.step(theirs.step(final)) is None


def test_two_connections_have_two_nonces() -> None:
    entropy = Seeded(7)
    first, second = (ScramClient("SCRAM-SHA-256", "a", "b", entropy).first() for _ in range(2))
    assert first != second


def test_a_user_name_with_nul_is_a_mistake_of_the_config() -> None:
    with pytest.raises(ConfigError):
        client("SCRAM-SHA-256", user="a\0b")
