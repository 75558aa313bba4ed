"""librdkafka's files as kcat reads them: names and words of its own, both ways."""

from pathlib import Path

import pytest
from confluent_kafka import Consumer
from hypothesis import given

from kctl.cli.profiles.foreign.librdkafka import WRITTEN, read_librdkafka, write_librdkafka
from kctl.cli.profiles.foreign.transfer import Item, login_of
from kctl.cli.profiles.references import JAAS, escape
from kctl.cli.settings import KNOWN
from kctl.client.errors import ConfigError
from tests.unit.cli.profiles.foreign.strategies import properties, through_toml

MEANT_ALIKE = {"ssl.truststore.type": "PEM"}
"""What a file says without words."""


@given(properties([name for name in sorted(KNOWN) if name == JAAS or name in WRITTEN]))
def test_exported_profile_is_imported_back_or_the_difference_named(given_properties: dict[str, str]) -> None:
    profile = {name: escape(value) for name, value in given_properties.items()}
    if JAAS in profile:
        profile["sasl.mechanism"] = "PLAIN" if "Plain" in profile[JAAS] else "SCRAM-SHA-512"
    written = write_librdkafka(through_toml(profile))
    read = read_librdkafka(written.text.encode(), "f")
    assert read.notes == []
    named = " ".join(written.notes)
    for name, value in profile.items():
        if name == JAAS and name in read.properties and "sasl.password" not in named and "sasl.username" not in named:
            assert login_of(read.properties[name]) == login_of(value)
        elif name != JAAS and WRITTEN[name] + ":" not in named:
            assert read.properties[name] == value, name


def _everything() -> dict[str, Item]:
    items = {name: Item(KNOWN[name].kind.write(KNOWN[name].default) or "x") for name in WRITTEN}
    return items | {"bootstrap.servers": Item("a:1"), "partition.assignment.strategy": Item("range")}


def test_librdkafka_itself_takes_every_name_that_is_written() -> None:
    for name, item in _everything().items():
        lines = write_librdkafka({name: item}).text.splitlines()
        given_to_it = dict(line.split("=", 1) for line in lines if not line.startswith("#"))
        assert len(given_to_it) == 1, name
        Consumer({"group.id": "g", **given_to_it}).close()


def test_assignors_that_librdkafka_cannot_mix() -> None:
    for assignors, is_left_out in (("range,roundrobin", 0), ("cooperative-sticky", 0), ("range,cooperative-sticky", 1)):
        written = write_librdkafka({"partition.assignment.strategy": Item(assignors)})
        assert len(written.notes) == is_left_out


def test_every_name_that_is_written_is_one_that_is_read() -> None:
    items = _everything()
    written = write_librdkafka(items)
    assert written.notes == []
    assert set(read_librdkafka(written.text.encode(), "f").properties) == {*items, "ssl.truststore.type"}


def test_a_file_of_kcat() -> None:
    raw = (
        b"# Confluent\nmetadata.broker.list=pkc.example\\:9092\nsecurity.protocol=sasl_ssl\nsasl.mechanisms=PLAIN\n"
        b'sasl.username=alice\nsasl.password=p="w\\\\\nssl.ca.location=/ca.pem\nssl.certificate.location=/c.pem\n'
        b"ssl.key.location=/k.pem\ntopic.request.required.acks=-1\nauto.offset.reset=smallest\ndebug=all\n"
        b"enable.ssl.certificate.verification=false\nrequest.timeout.ms=5\nsocket.timeout.ms=7\n\n"
    )
    read = read_librdkafka(raw, "f")
    login = read.properties.pop(JAAS)
    assert login_of(login) == ("alice", 'p="w\\\\')
    assert read.properties == {
        "bootstrap.servers": "pkc.example:9092",
        "security.protocol": "sasl_ssl",
        "sasl.mechanism": "PLAIN",
        "acks": "-1",
        "auto.offset.reset": "earliest",
        "request.timeout.ms": "7",
        "ssl.truststore.location": "/ca.pem",
        "ssl.truststore.type": "PEM",
        "ssl.keystore.type": "PEM",
        "ssl.keystore.certificate.chain": "${file:/c.pem}",
        "ssl.keystore.key": "${file:/k.pem}",
    }
    assert [note.partition(":")[0] for note in read.notes] == [
        "debug", "enable.ssl.certificate.verification", "request.timeout.ms",
    ]  # fmt: skip


def test_keys_in_files_stay_in_files() -> None:
    items = {
        "ssl.keystore.certificate.chain": Item(None, Path("/c.pem")),
        "ssl.keystore.key": Item(None, Path("/k.pem")),
    }
    read = read_librdkafka(write_librdkafka(items).text.encode(), "f")
    assert read.properties["ssl.keystore.key"] == "${file:/k.pem}"


def test_without_secrets_the_user_is_told_and_the_password_named() -> None:
    written = write_librdkafka({JAAS: Item(None, None, "alice")})
    assert "sasl.username=alice\n" in written.text
    assert "# sasl.password: left out, a secret" in written.text


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        (b"\na.b\n", "f line 2: not of the form name=value"),
        (b"=x\n", "f line 1: not of the form name=value"),
        (b"\xff", "f: not UTF-8"),
        (b"sasl.username=a\nsasl.password=canary\nsasl.mechanism=GSSAPI\n", "sasl.mechanism 'GSSAPI' takes no user"),
        (b"ssl.key.location=/k\n", "ssl.certificate.location is missing"),
        (b"linger.ms=0.5\n", "linger.ms takes a whole number"),
    ],
)
def test_refused(raw: bytes, said: str) -> None:
    with pytest.raises(ConfigError) as e:
        read_librdkafka(raw, "f")
    assert str(e.value).startswith(said)
    assert "canary" not in str(e.value)
