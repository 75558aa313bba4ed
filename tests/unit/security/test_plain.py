"""PLAIN, both sides."""

from base64 import b64encode

import pytest

from kctl.client.errors import AuthenticationError, ConfigError
from kctl.client.security.sasl.plain import PlainClient
from kctl.sandbox.sasl import PlainServer


def test_the_example_of_rfc_4616() -> None:
    assert PlainClient("tim", "tanstaaftanstaaf").first() == b"\0tim\0tanstaaftanstaaf"


def test_the_right_password_is_taken() -> None:
    ours, theirs = PlainClient("älice", "sécret"), PlainServer({"älice": "sécret"})
    assert ours.step(theirs.step(ours.first())) is None
    assert (ours.complete, theirs.done, theirs.user) == (True, True, "älice")


@pytest.mark.parametrize(("user", "password"), [("alice", "wrong"), ("bob", "secret")])
def test_wrong_credentials_are_refused_alike(user: str, password: str) -> None:
    theirs = PlainServer({"alice": "secret"})
    with pytest.raises(AuthenticationError, match=r"^Authentication failed: Invalid username or password$"):
        theirs.step(PlainClient(user, password).first())
    assert not theirs.done


@pytest.mark.parametrize("message", [b"", b"\0", b"\0\0", b"\0a\0", b"\0\0b", b"\0a\0b\0c", b"\xff", b"a" * 200_000])
def test_a_malformed_message_is_refused(message: bytes) -> None:
    with pytest.raises(AuthenticationError):
        PlainServer({"a": "b"}).step(message)


def test_another_authorization_identity_is_refused() -> None:
    with pytest.raises(AuthenticationError, match="different from username"):
        PlainServer({"a": "b"}).step(b"root\0a\0b")


def test_a_broker_that_goes_on_is_refused() -> None:
    with pytest.raises(AuthenticationError):
        PlainClient("a", "b").step(b"more")


def test_refusal_that_repeats_the_password_is_told_without_it() -> None:
    ours = PlainClient("ann", "canary-7")
    encoded = b64encode(ours.first()).decode()
    reason, _ = ours.refusal(f"x canary-7, {encoded}, {'y' * 500} canary-7")
    assert reason == f"x ***, AGFubgB***w==, {'y' * 500} ***"
    assert PlainClient("ann", "a").refusal("a bad password")[0] == "a bad password"


def test_a_nul_cannot_be_carried() -> None:
    with pytest.raises(ConfigError, match="NUL"):
        PlainClient("a", "b\0c")
