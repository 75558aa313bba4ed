"""Logins: a user and a password as Kafka's clients read them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kctl.cli.login import MODULES, make_jaas
from kctl.cli.profiles.foreign.transfer import Read, checked, file_reference, is_literal_secret
from kctl.cli.profiles.references import Reference, escape, split_references
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


@given(st.text("${}:cmdfile/ ", min_size=1))
def test_values_of_a_file_become_text_or_one_file_reference(value: str) -> None:
    checked(Read({"client.id": escape(value)}, []))
    try:
        written = file_reference("ssl.key.location", "/" + value)
    except ConfigError:
        return
    (piece,) = split_references(written)
    assert isinstance(piece, Reference)
    assert piece.kind == "file"


@pytest.mark.parametrize("value", ["${cmd:true}", "x${file:/a}", "${file:/a}${file:/b}", "${env:A}", "${"])
def test_values_with_other_references_are_not_imported(value: str) -> None:
    with pytest.raises(ConfigError, match=r"client\.id: "):
        checked(Read({"client.id": value}, []))
