"""rpk's profiles, in the three files in which they are found."""

import pytest

from kctl.cli.profiles.foreign.rpk import read_rpk
from kctl.cli.profiles.references import JAAS
from kctl.client.errors import ConfigError
from tests.unit.cli.profiles.foreign.strategies import login_of

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
        (b"a: \x00", "f: the file is not YAML"),
        (b"kafka_api: {brokers: !!bool maybe}", "f: kafka_api.brokers must list at least one server"),
        (b"? [a]\n: b", "f line 1, column 3: found unhashable key"),
        (b"- a\n", "f: the file is not an rpk configuration"),
        (b"a: &x 1\nb: *x\n", "f: aliases (*x) are not supported"),
        (b"[" * 100_000, "f: the file is nested too deeply"),
        (b"kafka_api: 1", "f: kafka_api must be a map"),
        (b"name: x", "f: kafka_api.brokers must list at least one server"),
        (b"kafka_api: {brokers: ['a b:1']}", "invalid bootstrap.servers"),
        (b"profiles: [{name: a}, {name: b}]\n", "f: no profile 'None' found: use a, b"),
        (b"kafka_api: {brokers: [a:1], tls: {key_file: k}}", "f: tls.cert_file is missing"),
        (
            b"kafka_api: {brokers: [a:1], tls: {key_file: /k, cert_file: '/c}${cmd:touch /x}${file:/c'}}",
            "invalid tls.cert_file '/c}${cmd:touch /x}${file:/c': use a path without $, {, and }",
        ),
        (b"kafka_api: {brokers: [a:1], tls: {key_file: '/k$', cert_file: /c}}", "invalid tls.key_file '/k$'"),
        (b"!!python/object/apply:os.system ['true']", "f"),
    ],
)
def test_refused(raw: bytes, said: str) -> None:
    with pytest.raises(ConfigError) as e:
        read_rpk(raw, "f")
    assert str(e.value).startswith(said)
