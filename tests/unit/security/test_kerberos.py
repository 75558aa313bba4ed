"""GSSAPI: the exchange with a context that is faked, whom a config logs in as, and what errors of the library say."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from kctl.client.config import ClientConfig
from kctl.client.errors import AuthenticationError, ConfigError, ConnectionLost
from kctl.client.kerberos import KerberosLogin, error_of, fetch_ticket
from kctl.client.security.sasl import mechanism_from_config
from kctl.client.security.sasl.gssapi import GssapiClient, login_from_config

ALL_LAYERS = b"\x07\x00\xff\xff"
MODULE = "com.sun.security.auth.module.Krb5LoginModule required"


class Context:
    """A context that is complete after `steps` tokens of the broker; what is signed has a prefix."""

    def __init__(self, steps: int = 1, last: bytes | None = None) -> None:
        self.complete = False
        self._left = steps
        self._last = last

    def step(self, token: bytes | None = None) -> bytes | None:
        if token is None:
            return b"ap-req"
        if token == b"forged":
            raise ValueError("Message stream modified")
        self._left -= 1
        self.complete = self._left == 0
        return self._last if self.complete else b"more"

    def wrap(self, message: bytes, encrypt: bool) -> Any:
        assert not encrypt
        return SimpleNamespace(message=b"signed:" + message)

    def unwrap(self, message: bytes) -> Any:
        if not message.startswith(b"signed:"):
            raise ValueError("Invalid token was supplied")
        return SimpleNamespace(message=message.removeprefix(b"signed:"))


def config(**given: object) -> ClientConfig:
    named = {name.replace("_", "."): value for name, value in given.items()}
    return ClientConfig.parse({"bootstrap.servers": "a:1", "security.protocol": "SASL_SSL", **named})


def test_whole_exchange_ends_without_a_security_layer() -> None:
    client = GssapiClient(Context)
    assert client.first() == b"ap-req"
    assert client.step(b"ap-rep") == b""  # nothing to say, yet it is our turn
    assert client.step(b"signed:" + ALL_LAYERS) == b"signed:\x01\x00\x00\x00"
    assert not client.complete
    assert client.step(b"") is None
    assert client.complete


def test_context_of_several_tokens() -> None:
    client = GssapiClient(lambda: Context(2, b"last"))
    assert [client.first(), client.step(b"1"), client.step(b"2")] == [b"ap-req", b"more", b"last"]
    assert client.step(b"signed:\x01\x00\x00\x00") == b"signed:\x01\x00\x00\x00"


@pytest.mark.parametrize(
    ("offer", "why"),
    [
        (b"signed:\x06\x00\xff\xff", "requires a security layer"),
        (b"signed:\x01\x00\x00", "sent an invalid message"),
        (b"signed:", "sent an invalid message"),
        (b"signed:" + ALL_LAYERS * 2, "sent an invalid message"),
        (ALL_LAYERS, "invalid signature in the message from the broker: Invalid token was supplied"),
    ],
)
def test_offer_that_is_no_good(offer: bytes, why: str) -> None:
    client = GssapiClient(Context)
    client.first()
    client.step(b"ap-rep")
    with pytest.raises(AuthenticationError, match=why):
        client.step(offer)


def test_broker_that_does_not_prove_itself_or_says_too_much() -> None:
    client = GssapiClient(Context)
    client.first()
    with pytest.raises(AuthenticationError, match="GSSAPI: Message stream modified"):
        client.step(b"forged")
    client = GssapiClient(Context)
    client.first()
    client.step(b"ap-rep")
    client.step(b"signed:" + ALL_LAYERS)
    with pytest.raises(AuthenticationError, match="more tokens than GSSAPI allows"):
        client.step(b"more")


def test_exchange_without_an_end_is_ended() -> None:
    client = GssapiClient(lambda: Context(1000))
    client.first()
    for _ in range(10):
        client.step(b"more")
    with pytest.raises(AuthenticationError, match="incomplete after 10 tokens"):
        client.step(b"more")


def test_refusal_has_a_hint() -> None:
    reason, hint = GssapiClient(Context).refusal("invalid credentials")
    assert reason == "the broker rejected the ticket: invalid credentials"
    assert "keytab, and clock of the broker" in hint


@pytest.mark.parametrize(
    ("given", "login"),
    [
        ({"sasl_kerberos_service_name": "kafka"}, KerberosLogin("kafka")),
        (
            {"sasl_kerberos_service_name": "k", "sasl_kerberos_keytab": "/k", "sasl_kerberos_principal": "a@R"},
            KerberosLogin("k", "a@R", "/k"),
        ),
        (
            {"sasl_jaas_config": f'{MODULE} useKeyTab=true keyTab="FILE:/k" principal="a@R" serviceName="kafka";'},
            KerberosLogin("kafka", "a@R", "/k"),
        ),
        (
            {"sasl_jaas_config": f'{MODULE} useTicketCache=true ticketCache="/c" serviceName="kafka";'},
            KerberosLogin("kafka", None, None, "/c"),
        ),
        (
            {"sasl_jaas_config": f'{MODULE} keyTab="/unused" serviceName="kafka";', "sasl_kerberos_keytab": "/k"},
            KerberosLogin("kafka", None, "/k"),
        ),
    ],
)
def test_who_logs_in(given: dict[str, str], login: KerberosLogin) -> None:
    parsed = config(**given)
    assert parsed.sasl_mechanism == "GSSAPI"
    assert login_from_config(parsed) == login


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"sasl_mechanism": "GSSAPI"}, "needs sasl.kerberos.service.name"),
        ({"sasl_mechanism": "GSSAPI", "sasl_jaas_config": "a.PlainLoginModule required;"}, "module Krb5LoginModule"),
        (
            {"sasl_kerberos_service_name": "a", "sasl_jaas_config": f'{MODULE} serviceName="b";'},
            "service.name=a differs from serviceName in sasl.jaas.config",
        ),
        ({"sasl_jaas_config": f'{MODULE} useKeyTab=true serviceName="b";'}, "useKeyTab=true needs keyTab"),
    ],
)
def test_config_that_lacks_something_is_refused_before_anything_is_dialled(given: dict[str, str], why: str) -> None:
    with pytest.raises(ConfigError, match=why):
        mechanism_from_config(config(**given), None)  # type: ignore[arg-type]  # needs no random bytes


def library_error(code: int, routine: int = 13, text: str = "Major (851968): Unspecified, Minor (1): why") -> Any:
    return SimpleNamespace(min_code=code % 2**32, maj_code=routine << 16, gen_message=lambda: text)


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (library_error(-1765328377), "the KDC does not know the service kafka/b1"),
        (library_error(-1765328378), "the KDC does not know principal alice"),
        (library_error(-1765328352), "the ticket has expired"),
        (library_error(100001, 11), "the ticket has expired"),
        (library_error(-1765328347), "the clocks of this machine and of the KDC differ too much"),
        (library_error(-1765328160), "krb5.conf has no default realm"),
        (library_error(-1765328189, 7), "the keytab /k has no usable key for alice"),
        (library_error(1), "why"),
        (library_error(1, text="something else"), "something else"),
    ],
)
def test_errors_of_the_library_in_plain_words(error: Any, said: str) -> None:
    found = error_of(error, KerberosLogin("kafka", "alice", "/k"), "b1")
    assert (type(found), str(found)) == (AuthenticationError, said)


def test_principal_that_was_not_given_is_that_of_the_keytab() -> None:
    found = error_of(library_error(-1765328360), KerberosLogin("kafka", keytab="/k"), "b1")
    assert str(found) == "the KDC rejected the key of the principal of the keytab"


def test_kdc_that_cannot_be_reached_is_no_refusal() -> None:
    error = library_error(-1765328228, 7, "Major (1): x, Minor (2): Cannot contact any KDC for realm 'R'")
    found = error_of(error, KerberosLogin("kafka"), "b1")
    assert (type(found), str(found)) == (ConnectionLost, "Cannot contact any KDC for realm 'R'")


def test_missing_library_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "gssapi", None)
    with pytest.raises(AuthenticationError, match="gssapi is not installed") as caught:
        fetch_ticket(KerberosLogin("kafka"), "b1", "cache")
    assert "pip install 'kctl-kafka[kerberos]'" in caught.value.hint


@pytest.mark.parametrize(("content", "why"), [(None, "No such file"), (b"junk", "is not a keytab"), (b"", "is not a")])
def test_file_that_is_no_keytab(
    content: bytes | None, why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    errors = SimpleNamespace(GSSError=OSError)
    library = SimpleNamespace(MechType=SimpleNamespace(kerberos=None), exceptions=errors)
    monkeypatch.setitem(__import__("sys").modules, "gssapi", library)
    file = tmp_path / "keytab"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(AuthenticationError, match=why) as caught:
        fetch_ticket(KerberosLogin("kafka", keytab=str(file)), "b1", "cache")
    assert str(file) in str(caught.value)


@pytest.mark.parametrize("odd", ["\udcff", "a\0b", "a\n\x1b[31m", "x" * 100_000])
@pytest.mark.parametrize("field", ["service_name", "principal", "keytab", "cache"])
def test_odd_bytes_in_names_and_paths_are_an_error_of_one_short_line(
    field: str, odd: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KRB5_CONFIG", str(tmp_path / "none"))
    monkeypatch.setenv("KRB5CCNAME", f"FILE:{tmp_path}/none")
    login = KerberosLogin("kafka")._replace(**{field: odd})
    with pytest.raises((AuthenticationError, ConnectionLost)) as caught:
        fetch_ticket(login, "b1", "cache")
    said = f"{caught.value} {caught.value.hint}"
    assert len(said) < 1_000
    assert said.isprintable() or "\udcff" in said
