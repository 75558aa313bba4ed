"""OAUTHBEARER: the message, refusals, and where tokens come from."""

import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from pathlib import Path

import pytest

from kctl.client.clock import ManualClock
from kctl.client.config import ClientConfig
from kctl.client.errors import AuthenticationError, ConfigError
from kctl.client.security.sasl import SaslMechanism, mechanism_from_config
from kctl.client.security.sasl.oauthbearer import OauthBearerClient, Token, unsecured_token
from kctl.sandbox.sasl import OauthBearerServer, unsecured_user

WALL_MS = 1_700_000_000_000
MODULE = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule"


class NoEntropy:
    def token_bytes(self, count: int) -> bytes:
        raise AssertionError("OAUTHBEARER needs no nonce")


def mechanism(**properties: str) -> SaslMechanism:
    given = {name.replace("_", "."): value for name, value in properties.items()}
    config = ClientConfig.parse(
        {"bootstrap.servers": "a:1", "security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "OAUTHBEARER", **given}
    )
    return mechanism_from_config(config, NoEntropy(), "a", clock=ManualClock(wall_ms=WALL_MS))


def test_the_message_of_rfc_7628() -> None:
    ours = OauthBearerClient(lambda: Token("vF9dft4qmT", {"traceId": "1 2"}))
    assert ours.first() == b"n,,\x01auth=Bearer vF9dft4qmT\x01traceId=1 2\x01\x01"
    assert ours.step(b"") is None
    assert ours.complete


def test_an_unsecured_token_is_taken_until_it_expires() -> None:
    ours = mechanism(sasl_jaas_config=f'{MODULE} required unsecuredLoginStringClaim_sub="alice";')
    first = ours.first()
    theirs = OauthBearerServer(lambda token: unsecured_user(token, WALL_MS + 3_599_999))
    assert ours.step(theirs.step(first)) is None
    assert (theirs.done, theirs.user) == (True, "alice")
    late = OauthBearerServer(lambda token: unsecured_user(token, WALL_MS + 3_600_000))
    assert late.step(first) == b'{"status":"invalid_token"}'


def test_claims_of_every_kind() -> None:
    token = unsecured_token(
        {
            "unsecuredLoginStringClaim_sub": "alice",
            "unsecuredLoginListClaim_scope": "|a|b",
            "unsecuredLoginNumberClaim_level": "1.5",
            "unsecuredLoginLifetimeSeconds": "60",
        },
        WALL_MS,
    )
    header, payload, signature = token.split(".")
    assert signature == ""
    assert json.loads(urlsafe_b64decode(header + "==")) == {"alg": "none"}
    claims = json.loads(urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
    assert claims == {
        "sub": "alice",
        "scope": ["a", "b"],
        "level": 1.5,
        "iat": WALL_MS / 1000,
        "exp": WALL_MS / 1000 + 60,
    }


def test_a_refusal_is_answered_and_then_told() -> None:
    ours = OauthBearerClient(lambda: Token("x"))

    def refuse(token: str) -> str:
        raise ValueError(token)

    theirs = OauthBearerServer(refuse)
    farewell = ours.step(theirs.step(ours.first()))
    assert farewell == b"\x01"
    with pytest.raises(AuthenticationError, match="invalid credentials with SASL mechanism OAUTHBEARER"):
        theirs.step(farewell)
    with pytest.raises(AuthenticationError, match="the broker rejected the token: status invalid_token"):
        ours.step(b"")


def test_refused_token_is_compared_by_its_claims_and_not_shown() -> None:
    clock = ManualClock(wall_ms=WALL_MS)
    claims = {"iss": "http://id", "aud": ["a", "b"], "exp": clock.wall_ms() / 1000 - 90, "canary": "canary"}
    payload = urlsafe_b64encode(json.dumps(claims).encode()).rstrip(b"=").decode()
    ours = OauthBearerClient(lambda: Token(f"e30.{payload}.sig"), clock)
    ours.first()
    reason, hint = ours.refusal('{"status":"invalid_token"}')
    assert reason == "the broker rejected the token: status invalid_token"
    assert hint.startswith(
        "compare the token with the settings of the broker: issuer http://id and audience a, b, expired 1m30s ago"
    )
    assert "canary" not in hint


@pytest.mark.parametrize("length", [20, 610])
def test_refusal_that_repeats_the_token_is_told_without_it(length: int) -> None:
    token = f"eyJ.{'canary' * length}"[:length]
    for words in (f'{{"status":"invalid {token}"}}', f'{{"{token}":"invalid"}}', f"no {token}", f'["{token}"]'):
        ours = OauthBearerClient(lambda: Token(token))
        ours.first()
        assert "***" in ours.refusal(words)[0]
        assert "eyJ" not in ours.refusal(words)[0]
        ours.step(words.encode())
        with pytest.raises(AuthenticationError) as raised:
            ours.step(b"")
        assert "***" in str(raised.value)
        assert "eyJ" not in str(raised.value)


def test_refusal_with_lone_surrogates_is_told_with_escapes() -> None:
    ours = OauthBearerClient(lambda: Token("token"))
    assert ours.refusal('{"status":"\\ud800 \\udcc2\\udc9b"}')[0].endswith("status \\ud800 \\udcc2\\udc9b")


@pytest.mark.parametrize("token", ["opaque", "a.b.c", "a.W10.c", "a.MQ.c"])
def test_refused_token_that_is_no_jwt_is_named_as_such(token: str) -> None:
    ours = OauthBearerClient(lambda: Token(token))
    ours.first()
    assert "which is not a JWT" in ours.refusal("no")[1]


@pytest.mark.parametrize("refusal", [b"\xff", b"[" * 100_000, b"[]", b"{", b"1" * 5000])
def test_a_refusal_that_cannot_be_read_is_still_one(refusal: bytes) -> None:
    ours = OauthBearerClient(lambda: Token("x"))
    assert ours.step(refusal) == b"\x01"
    with pytest.raises(AuthenticationError, match="the broker rejected the token"):
        ours.step(b"")


def test_a_token_file_is_read_at_each_login(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("one\n")
    ours = mechanism(sasl_oauthbearer_token_file=str(file))
    assert ours.first() == b"n,,\x01auth=Bearer one\x01\x01"
    file.write_text("two\n")
    assert ours.first() == b"n,,\x01auth=Bearer two\x01\x01"
    by_url = mechanism(sasl_oauthbearer_token_endpoint_url=file.as_uri())
    assert by_url.first() == b"n,,\x01auth=Bearer two\x01\x01"


def test_a_missing_token_file_is_named(tmp_path: Path) -> None:
    ours = mechanism(sasl_oauthbearer_token_file=str(tmp_path / "none"))
    with pytest.raises(AuthenticationError, match=r"cannot read the token file .*none: No such file"):
        ours.first()


@pytest.mark.parametrize("token", ["", "a b", "a\x01b", "é", "x" * 70_000])
def test_malformed_token_is_not_sent(token: str) -> None:
    with pytest.raises(AuthenticationError, match="not a bearer token"):
        OauthBearerClient(lambda: Token(token)).first()


@pytest.mark.parametrize("user", ["u:p", "u", ":p"])
def test_token_endpoint_with_a_user_is_refused_without_its_password(user: str) -> None:
    with pytest.raises(ConfigError, match=r"token\.endpoint\.url: a URL with a user is not supported") as failure:
        mechanism(
            sasl_oauthbearer_token_endpoint_url=f"https://{user}@id.example/token",
            sasl_oauthbearer_client_credentials_client_id="a",
            sasl_oauthbearer_client_credentials_client_secret="b",
        )
    assert "@" not in str(failure.value)


def test_token_endpoint_without_a_client_is_refused_when_the_client_is_made() -> None:
    with pytest.raises(ConfigError, match="a token endpoint needs"):
        mechanism(sasl_oauthbearer_token_endpoint_url="https://id.example/token")


def test_token_that_was_not_fetched_is_not_sent() -> None:
    ours = mechanism(
        sasl_oauthbearer_token_endpoint_url="https://id.example/token",
        sasl_oauthbearer_client_credentials_client_id="me",
        sasl_oauthbearer_client_credentials_client_secret="s",
    )
    with pytest.raises(AuthenticationError, match="the client has no token"):
        ours.first()


def test_no_token_at_all_is_a_mistake_of_the_config() -> None:
    with pytest.raises(ConfigError, match="needs a token"):
        mechanism()
    with pytest.raises(ConfigError, match="unsecuredLoginStringClaim_sub"):
        mechanism(sasl_jaas_config=f"{MODULE} required unsecuredLoginNumberClaim_n=1;")


def test_extensions_come_from_the_login_module() -> None:
    jaas = f'{MODULE} required unsecuredLoginStringClaim_sub="a" unsecuredLoginExtension_traceId="123";'
    assert b"\x01traceId=123\x01" in mechanism(sasl_jaas_config=jaas).first()
    with pytest.raises(ConfigError, match="not a valid SASL extension"):
        mechanism(sasl_jaas_config=jaas.replace("traceId", "auth"))


@pytest.mark.parametrize(
    "message", [b"", b"n,,", b"n,,\x01\x01", b"n,,\x01auth=Bearer x\x01", b"\xff", b"n,,\x01auth=Basic x\x01\x01"]
)
def test_the_broker_refuses_what_is_malformed(message: bytes) -> None:
    with pytest.raises(AuthenticationError, match="Authentication failed"):
        OauthBearerServer(str).step(message)


def test_a_token_is_never_shown() -> None:
    assert "secret" not in repr(Token("secret"))
