"""Kafka's .properties files: what comes in goes out again, and what kctl cannot mean is named."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kctl.cli.profiles.foreign.java import read_java, write_java
from kctl.cli.profiles.foreign.transfer import Read
from kctl.cli.profiles.references import escape
from kctl.cli.settings import KNOWN
from kctl.client.config.foreign import IGNORED
from kctl.client.errors import ConfigError
from kctl.grammar.properties import read_properties, write_properties
from tests.unit.cli.profiles.foreign.strategies import properties, texts, through_toml

everything = st.builds(
    lambda known, ignored: known | ignored,
    properties(sorted(KNOWN)),
    st.dictionaries(st.sampled_from(sorted(IGNORED)), texts, max_size=3),
)


@pytest.mark.slow
@given(everything)
def test_imported_profile_is_exported_back(given_properties: dict[str, str]) -> None:
    file = write_properties(given_properties)
    imported = read_java(file.encode(), "f")
    assert imported == Read({name: escape(value) for name, value in given_properties.items()}, [])
    exported, notes = write_java(through_toml(imported.properties))
    assert notes == []
    assert read_properties(exported) == given_properties
    assert read_java(exported.encode(), "f") == imported


def test_escapes_and_continuations() -> None:
    raw = (
        b"# comment\n! another\nbootstrap.servers = a:9092,\\\n    b:9092\nclient.id:caf\\u00e9\n"
        b'sasl.jaas.config=x.y.PlainLoginModule required \\\n  username\\="a" password="${b}\\\\n";\n'
    )
    assert read_java(raw, "f").properties == {
        "bootstrap.servers": "a:9092,b:9092",
        "client.id": "café",
        "sasl.jaas.config": 'x.y.PlainLoginModule required username="a" password="$${b}\\n";',
    }


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        (b"a=1\nclient.id=\\u12\n", "f line 2: "),
        (b"request.timeout.ms=soon\n", "invalid request.timeout.ms 'soon': use an integer of 0 or more"),
        (b"config.providers=env\n", "config.providers: kctl does not support config providers"),
        (b"x" * (1 << 21), "f: "),
        (b"sasl.mechanism=PLAIN\nsasl.username=a\n", "f has sasl.username without sasl.password: a login needs both"),
        (b"sasl.mechanism=PLAIN\nsasl.password=a\n", "f has sasl.password without sasl.username: a login needs both"),
        (b"sasl.username=a\nsasl.password=b\n", "sasl.username needs sasl.mechanism: use PLAIN, "),
        (
            b"sasl.mechanism=GSSAPI\nsasl.username=a\nsasl.password=b\n",
            "sasl.mechanism 'GSSAPI' does not use a username and",
        ),
    ],
)
def test_refused(raw: bytes, said: str) -> None:
    with pytest.raises(ConfigError) as e:
        read_java(raw, "f")
    assert str(e.value).startswith(said)


def test_unknown_names_are_left_out_and_told() -> None:
    assert read_java(b"no.such=canary\nacks=1\n", "f") == Read({"acks": "1"}, ["unknown property 'no.such' omitted"])


def test_a_secret_that_may_not_be_told_is_named() -> None:
    text, notes = write_java({"acks": "1", "ssl.key.password": None})
    assert read_properties(text) == {"acks": "1"}
    assert "# ssl.key.password: secret omitted. To include secrets, add --with-secrets\n" in text
    assert notes == ["ssl.key.password: secret omitted. To include secrets, add --with-secrets"]


def test_user_and_password_of_librdkafka_become_the_login() -> None:
    raw = b'sasl.mechanism=SCRAM-SHA-256\nsasl.username=alice\nsasl.password=a"\\\\${b}\nacks=all\n'
    read = read_java(raw, "f")
    assert read.properties == {
        "sasl.mechanism": "SCRAM-SHA-256",
        "acks": "all",
        "sasl.jaas.config": "org.apache.kafka.common.security.scram.ScramLoginModule required "
        'username="alice" password="a\\"\\\\$${b}";',
    }
    assert read.notes == ["sasl.username and sasl.password: saved as sasl.jaas.config"]


def test_login_of_kafka_goes_before_that_of_librdkafka() -> None:
    jaas = "a.b.PlainLoginModule required;"
    read = read_java(f"sasl.jaas.config={jaas}\nsasl.password=hidden\n".encode(), "f")
    assert read.properties == {"sasl.jaas.config": jaas}
    assert read.notes == ["sasl.password: omitted: sasl.jaas.config already has a login"]


def test_other_names_of_librdkafka_are_named_with_what_reads_them() -> None:
    notes = read_java(b"ssl.certificate.location=/ca.pem\nno.such=1\n", "f").notes
    assert notes[:-1] == [f"unknown property '{name}' omitted" for name in ("ssl.certificate.location", "no.such")]
    assert notes[-1] == "ssl.certificate.location: librdkafka properties need --from librdkafka"
