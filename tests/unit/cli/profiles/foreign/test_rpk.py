"""rpk's profiles, in the three files in which they are found, both ways."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kctl.cli.login import make_jaas
from kctl.cli.profiles.foreign.rpk import read_rpk, write_rpk
from kctl.cli.profiles.foreign.transfer import Item, login_of
from kctl.cli.profiles.references import JAAS, escape
from kctl.client.errors import ConfigError
from tests.unit.cli.profiles.foreign.strategies import texts, through_toml

RPK_YAML = b"""
version: 6
current_profile: cloud
profiles:
    - name: local
      kafka_api:
        brokers:
            - 127.0.0.1
    - name: cloud
      description: of ours
      kafka_api:
        brokers:
            - a.example:9092
            - "[::1]:9093"
        tls:
            ca_file: /ca.pem
            cert_file: /c.pem
            key_file: /k.pem
            insecure_skip_verify: true
        sasl:
            user: alice
            password: "p${w}"
            mechanism: scram-sha-512
      admin_api:
        addresses: [x:9644]
"""


def test_the_current_of_several() -> None:
    read = read_rpk(RPK_YAML, "f")
    assert login_of(read.properties.pop(JAAS)) == ("alice", "p$${w}")
    assert read.properties == {
        "bootstrap.servers": "a.example:9092,[::1]:9093",
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "SCRAM-SHA-512",
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": "/ca.pem",
        "ssl.keystore.type": "PEM",
        "ssl.keystore.certificate.chain": "${file:/c.pem}",
        "ssl.keystore.key": "${file:/k.pem}",
    }
    assert [note.partition(":")[0] for note in read.notes] == ["admin_api", "tls.insecure_skip_verify"]


def test_one_by_name_and_one_alone() -> None:
    local = {"bootstrap.servers": "127.0.0.1:9092", "security.protocol": "PLAINTEXT"}
    assert read_rpk(RPK_YAML, "f", "local").properties == local
    assert read_rpk(b"name: x\nkafka_api: {brokers: [127.0.0.1]}\n", "f").properties == local
    assert read_rpk(b"redpanda: {}\nrpk:\n  kafka_api: {brokers: [127.0.0.1]}\n", "f").properties == local


def test_tls_by_an_empty_map() -> None:
    assert read_rpk(b"kafka_api: {brokers: [a:1], tls: {}}", "f").properties["security.protocol"] == "SSL"
    off = b"kafka_api: {brokers: [a:1], tls: {enabled: false}}"
    assert read_rpk(off, "f").properties["security.protocol"] == "PLAINTEXT"


def test_words_that_yaml_would_make_something_else_of() -> None:
    raw = b"kafka_api: {brokers: [a:1], tls: null, sasl: {user: 007, password: 1_0, mechanism: PLAIN}}"
    read = read_rpk(raw, "f")
    assert login_of(read.properties[JAAS]) == ("007", "1_0")
    assert read.properties["security.protocol"] == "SASL_PLAINTEXT"
    checked = b"kafka_api: {brokers: [a:1], tls: {insecure_skip_verify: false}}"
    assert read_rpk(checked, "f").notes == []


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        (b"a: [\n", "f line 2, column 1: "),
        (b"a: \x00", "f: not YAML"),
        (b"kafka_api: {brokers: !!bool maybe}", "f: kafka_api.brokers lists no servers"),
        (b"? [a]\n: b", "f line 1, column 3: found unhashable key"),
        (b"- a\n", "f: not a configuration of rpk"),
        (b"a: &x 1\nb: *x\n", "f: aliases (*x) are not supported"),
        (b"[" * 100_000, "f: nested too deeply"),
        (b"kafka_api: 1", "f: kafka_api is not a map"),
        (b"name: x", "f: kafka_api.brokers lists no servers"),
        (b"kafka_api: {brokers: ['a b:1']}", "bootstrap.servers takes"),
        (b"profiles: [{name: a}, {name: b}]\n", "f: no profile 'None'; there are a, b"),
        (b"kafka_api: {brokers: [a:1], tls: {key_file: k}}", "f: tls.cert_file is missing"),
        (b"!!python/object/apply:os.system ['true']", "f"),
    ],
)
def test_refused(raw: bytes, said: str) -> None:
    with pytest.raises(ConfigError) as e:
        read_rpk(raw, "f")
    assert str(e.value).startswith(said)


@given(
    st.sampled_from(["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"]),
    st.lists(st.sampled_from(["a:9092", "[::1]:1", "b.example:65535"]), min_size=1, unique=True),
    st.sampled_from(["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"]),
    texts,
    texts,
    st.none() | texts.filter(bool),
)
def test_exported_profile_is_imported_back(
    protocol: str, brokers: list[str], mechanism: str, user: str, password: str, ca: str | None
) -> None:
    profile = {"bootstrap.servers": ",".join(brokers), "security.protocol": protocol}
    if protocol.startswith("SASL"):
        profile |= {"sasl.mechanism": mechanism, JAAS: escape(make_jaas(mechanism, user, password))}
    if protocol.endswith("SSL") and ca is not None:
        profile |= {"ssl.truststore.type": "PEM", "ssl.truststore.location": escape(ca)}
    written = write_rpk(through_toml(profile), "p")
    assert written.notes == []
    assert read_rpk(written.text.encode(), "f") == (profile, [])


def test_without_secrets_the_user_is_told_and_the_password_named() -> None:
    items = {
        "bootstrap.servers": Item("a:1"),
        "security.protocol": Item("SASL_SSL"),
        "sasl.mechanism": Item("PLAIN"),
        JAAS: Item(None, None, "alice"),
        "linger.ms": Item("1"),
    }
    written = write_rpk(items, "p")
    assert "user: alice" in written.text
    assert "# sasl.password: left out, a secret" in written.text
    assert "# linger.ms: skipped: rpk has no such setting" in written.text
