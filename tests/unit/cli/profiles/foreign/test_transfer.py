"""Logins: a user and a password as Kafka's clients read them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kctl.cli.login import MODULES, make_jaas
from kctl.cli.profiles.foreign.transfer import is_literal_secret
from kctl.client.errors import ConfigError
from kctl.client.security.jaas import read_jaas
from tests.unit.cli.profiles.foreign.strategies import texts


@given(st.sampled_from(sorted(MODULES)), texts, texts)
def test_made_jaas_reads_back_the_same(mechanism: str, user: str, password: str) -> None:
    jaas = make_jaas(mechanism, user, password)
    assert read_jaas(jaas).options == {"username": user, "password": password}


def test_mechanisms_without_passwords() -> None:
    with pytest.raises(ConfigError, match="'OAUTHBEARER' does not use a username and password"):
        make_jaas("OAUTHBEARER", "a", "b")


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("ssl.key.password", "x", True),
        ("ssl.key.password", "", False),
        ("ssl.key.password", "${env:X}", False),
        ("ssl.truststore.certificates", "pem", False),
        ("client.id", "x", False),
        ("sasl.jaas.config", 'a.M required username="a" password="${env:X}";', False),
        ("sasl.jaas.config", 'a.M required username="${env:X}" password="x";', True),
        ("sasl.jaas.config", "nonsense", True),
        ("sasl.jaas.config", "${env:X}", False),
        ("sasl.jaas.config", 'a.M required password="${cmd:pass "x" \'y\'}";', False),
        ("sasl.jaas.config", 'a.M required password="x${env:X}";', True),
        ("ssl.key.password", "x${env:X}", True),
        ("ssl.key.password", "${env:X}${env:Y}", False),
        ("ssl.key.password", "${env:X", True),
    ],
)
def test_secrets_that_are_written_out(name: str, value: str, expected: bool) -> None:
    assert is_literal_secret(name, value) is expected
