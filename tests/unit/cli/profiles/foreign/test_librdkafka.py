"""librdkafka's files as kcat reads them: names and words of its own."""

import pytest
from confluent_kafka import Consumer

from kctl.cli.profiles.foreign.librdkafka import read_librdkafka
from kctl.cli.profiles.references import JAAS
from kctl.cli.settings import KNOWN
from kctl.client.config import LIBRDKAFKA_NAMES
from kctl.client.errors import ConfigError
from tests.unit.cli.profiles.foreign.strategies import login_of


def test_librdkafka_knows_its_names() -> None:
    values = {"metadata.broker.list": "a:1", "ssl.ca.location": "x"}
    for theirs, ours in LIBRDKAFKA_NAMES.items():
        value = values.get(theirs) or KNOWN[ours].kind.write(KNOWN[ours].default) or "x"
        Consumer({"group.id": "g", theirs: value}).close()


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


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        (b"\na.b\n", "f line 2: use the form name=value"),
        (b"=x\n", "f line 1: use the form name=value"),
        (b"\xff", "cannot read f: the file is not UTF-8"),
        (
            b"sasl.username=a\nsasl.password=canary\nsasl.mechanism=GSSAPI\n",
            "sasl.mechanism 'GSSAPI' does not use a user",
        ),
        (b"ssl.key.location=/k\n", "ssl.certificate.location is missing"),
        (
            b"ssl.certificate.location=/c}${cmd:touch /x}${file:/c\nssl.key.location=/k\n",
            "invalid ssl.certificate.location '/c}${cmd:touch /x}${file:/c': use a path without $, {, and }",
        ),
        (b"ssl.certificate.location=/c\nssl.key.location=/k{\n", "invalid ssl.key.location '/k{'"),
        (b"linger.ms=0.5\n", "invalid linger.ms '0.5': use an integer"),
    ],
)
def test_refused(raw: bytes, said: str) -> None:
    with pytest.raises(ConfigError) as e:
        read_librdkafka(raw, "f")
    assert str(e.value).startswith(said)
    assert "canary" not in str(e.value)
