"""GSSAPI on Kafka 4.3.1, with a KDC of its own: by keytab, by the ticket of kinit, and every way in which it fails."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kctl.cli.exit_codes import ExitCode
from kctl.client.clock import SystemClock
from kctl.client.cluster import TopicPartition
from kctl.client.consumer.consumer import Consumer
from kctl.client.errors import AuthenticationError
from kctl.client.events import Event, Lost
from kctl.client.kerberos import KerberosLogin, fetch_ticket
from kctl.client.producer import Producer
from kctl.client.security.sasl.gssapi import GssapiClient
from tests.cli.processes import Ended, kctl
from tests.support.bounds import bound
from tests.support.kafka.cluster import KafkaCluster
from tests.support.kafka.plugin import OwnKafka
from tests.support.kafka.waiting import wait_until
from tests.support.kerberos import REALM, Kdc, missing_command, running_kdc
from tests.support.ports import HOST

_LISTENER = "listener.name.sasl_plaintext."
_MODULE = "com.sun.security.auth.module.Krb5LoginModule required"
TICKETS, SESSIONS, SESSION_MS = 3, 2, 2_000

if (missing := missing_command()) is not None:
    pytest.skip(
        f"{missing} is not installed: krb5-kdc, krb5-admin-server, krb5-user, libkrb5-dev", allow_module_level=True
    )


@pytest.fixture(scope="module")
def kdc() -> Iterator[Kdc]:
    with running_kdc() as started:
        yield started


@pytest.fixture(scope="module")
def alice(kdc: Kdc) -> Path:
    return kdc.add("alice")


@pytest.fixture(scope="module")
def cluster(kdc: Kdc, own_kafka: OwnKafka) -> Iterator[KafkaCluster]:
    service = f"kafka/{HOST}"
    keytab = kdc.add(service)
    login = f'{_MODULE} useKeyTab=true storeKey=true keyTab="{keytab}" principal="{service}@{REALM}";'
    properties = {
        f"{_LISTENER}sasl.enabled.mechanisms": "GSSAPI",
        f"{_LISTENER}sasl.kerberos.service.name": "kafka",
        f"{_LISTENER}gssapi.sasl.jaas.config": login,
        f"{_LISTENER}gssapi.connections.max.reauth.ms": str(SESSION_MS),
    }
    with own_kafka(properties, jvm_options=(f"-Djava.security.krb5.conf={kdc.config}",)) as started:
        yield started


@pytest.fixture(autouse=True)
def environ(kdc: Kdc, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in kdc.environ().items():
        monkeypatch.setenv(name, value)


def login(cluster: KafkaCluster, keytab: Path | None = None, principal: str | None = None) -> dict[str, object]:
    """Return the properties of a client: of a keytab, or of the credentials cache."""
    given = {"sasl.kerberos.keytab": keytab, "sasl.kerberos.principal": principal}
    return {
        "bootstrap.servers": cluster.bootstrap("SASL_PLAINTEXT"),
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "GSSAPI",
        "sasl.kerberos.service.name": "kafka",
        **{name: str(value) for name, value in given.items() if value is not None},
    }


def run(properties: dict[str, object], folder: Path, *options: str, cache: Path | None = None) -> Ended:
    file = folder / "client.properties"
    file.write_text("".join(f"{name}={value}\n" for name, value in properties.items()))
    environ = {} if cache is None else {"KRB5CCNAME": f"FILE:{cache}"}
    return kctl("topics", "list", "--command-config", str(file), *options, environ=environ)


def test_keytab_and_ticket_of_kinit_log_in(cluster: KafkaCluster, kdc: Kdc, alice: Path, tmp_path: Path) -> None:
    topic, cache = cluster.create_topic(), tmp_path / "cache"
    kdc.kinit("alice", alice, cache)
    by_jaas = login(cluster)
    del by_jaas["sasl.mechanism"], by_jaas["sasl.kerberos.service.name"]  # GSSAPI is Java's default
    by_jaas["sasl.jaas.config"] = f'{_MODULE} useKeyTab=true keyTab="{alice}" principal="alice" serviceName="kafka";'
    ways: dict[str, tuple[dict[str, object], Path | None]] = {
        "keytab": (login(cluster, alice, f"alice@{REALM}"), None),
        "first of the keytab": (login(cluster, alice), None),
        "cache": (login(cluster), cache),
        "jaas": (by_jaas, None),
    }
    before = cache.read_bytes()
    for way, (properties, its_cache) in ways.items():
        ended = run(properties, tmp_path, cache=its_cache)
        assert (ended.code, topic in ended.stdout.decode()) == (0, True), (way, ended.stderr)
    assert cache.read_bytes() == before  # the user's own cache is read alone


def test_probe_logs_in(cluster: KafkaCluster, alice: Path, tmp_path: Path) -> None:
    file = tmp_path / "client.properties"
    file.write_text("".join(f"{name}={value}\n" for name, value in login(cluster, alice).items()))
    ended = kctl("probe", "--command-config", str(file))
    assert ended.code == 0, ended.stderr + ended.stdout.decode()


def test_tickets_and_sessions_that_expire_under_load_lose_nothing(cluster: KafkaCluster, kdc: Kdc) -> None:
    keytab = kdc.add("brief", "-maxlife", "4seconds")
    topic, events, sent = cluster.create_topic(), list[Event](), 0
    properties = login(cluster, keytab, "brief")
    with Producer(properties, events=events.append) as producer:
        while kdc.tickets_of("brief") < TICKETS:
            producer.send(topic, b"%d" % sent).result(timeout=20)
            sent += 1
    partition = TopicPartition(topic, 0)
    with Consumer({**properties, "auto.offset.reset": "earliest"}, events=events.append) as consumer:
        consumer.assign([partition])
        values: list[bytes | None] = []
        while len(values) < sent:
            values += [record.value for record in consumer.poll(timeout=20)]
    assert values == [b"%d" % number for number in range(sent)]
    assert [event for event in events if isinstance(event, Lost)] == []


def test_kdc_that_hangs_after_the_login_disturbs_nothing(cluster: KafkaCluster, kdc: Kdc, alice: Path) -> None:
    topic, clock, events = cluster.create_topic(), SystemClock(), list[Event]()
    with Producer(login(cluster, alice), events=events.append) as producer:
        producer.send(topic, b"first").result(timeout=20)
        kdc.process.freeze()
        try:
            until_ms = clock.now_ms() + SESSIONS * SESSION_MS
            while clock.now_ms() < until_ms:
                producer.send(topic, b"more").result(timeout=20)
        finally:
            kdc.process.thaw()
    assert [event for event in events if isinstance(event, Lost)] == []


@pytest.mark.parametrize("mistake", ["service", "principal", "host", "no ticket", "no keytab", "old key"])
def test_mistake_is_named(cluster: KafkaCluster, kdc: Kdc, alice: Path, tmp_path: Path, mistake: str) -> None:
    properties, said = login(cluster, alice), ""
    if mistake == "service":
        properties["sasl.kerberos.service.name"] = "kafak"
        said = f"the KDC does not know the service kafak/{HOST}"
    elif mistake == "principal":
        properties["sasl.kerberos.principal"] = "mallory"
        said = f"the keytab {alice} has no usable key for mallory"
    elif mistake == "host":
        properties["bootstrap.servers"] = f"localhost:{cluster.node(1).ports['SASL_PLAINTEXT']}"
        said = "the KDC does not know the service kafka/localhost"
    elif mistake == "no ticket":
        properties, said = login(cluster), "no ticket: No Kerberos credentials available"
    elif mistake == "no keytab":
        properties["sasl.kerberos.keytab"] = "/nonexistent"
        said = "cannot read sasl.kerberos.keytab /nonexistent: No such file"
    else:
        properties = login(cluster, kdc.add("renewed"), "renewed")
        kdc.renew_key("renewed")
        said = "the KDC rejected the key of principal renewed"
    ended = run(properties, tmp_path)
    assert ended.code == ExitCode.AUTHENTICATION, ended.stderr
    assert said in ended.stderr


def test_expired_ticket_is_named(cluster: KafkaCluster, kdc: Kdc, alice: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    kdc.kinit("alice", alice, cache, "1s")
    wait_until(lambda: not kdc.has_ticket(cache), bound(20_000), "the end of the ticket")
    ended = run(login(cluster), tmp_path, cache=cache)
    assert ended.code == ExitCode.AUTHENTICATION, ended.stderr
    assert "cannot get a Kerberos ticket: the ticket has expired" in ended.stderr
    assert "kinit" in ended.stderr


def test_broker_without_the_key_refuses_with_a_hint(
    cluster: KafkaCluster, kdc: Kdc, alice: Path, tmp_path: Path
) -> None:
    kdc.add("another/" + HOST)
    ended = run({**login(cluster, alice), "sasl.kerberos.service.name": "another"}, tmp_path)
    assert ended.code == ExitCode.AUTHENTICATION, ended.stderr
    assert "GSSAPI: the broker rejected the ticket: " in ended.stderr
    assert "keytab, and clock of the broker" in ended.stderr


@pytest.mark.parametrize("command", [("topics", "list"), ("probe",)])
def test_silent_kdc_ends_by_the_timeout(
    cluster: KafkaCluster, kdc: Kdc, alice: Path, tmp_path: Path, command: tuple[str, ...]
) -> None:
    file = tmp_path / "client.properties"
    file.write_text("".join(f"{name}={value}\n" for name, value in login(cluster, alice).items()))
    kdc.process.freeze()
    try:
        options = ("--command-config", str(file), "--connect-timeout", "1s", "--api-timeout", "2500ms")
        ended = kctl(*command, *options)
    finally:
        kdc.process.thaw()
    output = ended.stderr + ended.stdout.decode()
    assert ended.code == ExitCode.CONNECT_TIMEOUT, output
    assert "no Kerberos ticket within 1s" in output


def test_kdc_that_is_not_there_is_named(cluster: KafkaCluster, kdc: Kdc, alice: Path, tmp_path: Path) -> None:
    config = tmp_path / "krb5.conf"
    config.write_text(f"[libdefaults]\n default_realm = {REALM}\n[realms]\n {REALM} = {{\n  kdc = {HOST}:1\n }}\n")
    file = tmp_path / "client.properties"
    file.write_text("".join(f"{name}={value}\n" for name, value in login(cluster, alice).items()))
    options = ("--command-config", str(file), "--api-timeout", "2s")
    ended = kctl("topics", "list", *options, environ={"KRB5_CONFIG": str(config)})
    assert ended.code == ExitCode.REFUSED, ended.stderr
    assert f"Cannot contact any KDC for realm '{REALM}'" in ended.stderr


@pytest.fixture(scope="module")
def service_keytab(kdc: Kdc) -> Path:
    return kdc.add(f"hostile/{HOST}")


class Acceptor:
    """A broker's side, by the key that it should have: one login up to the offer of layers."""

    def __init__(self, keytab: Path, client_keytab: Path) -> None:
        import gssapi

        store: dict[str | bytes, str | bytes] = {"keytab": f"FILE:{keytab}"}
        self._context = gssapi.SecurityContext(creds=gssapi.Credentials(usage="accept", store=store), usage="accept")
        ticket = fetch_ticket(KerberosLogin("hostile", None, str(client_keytab)), HOST, f"kctl-test-{id(self)}")
        self.client = GssapiClient(ticket.context)
        reply = self._context.step(self.client.first())
        assert reply is not None
        self.reply = bytes(reply)

    def signed(self, offer: bytes) -> bytes:
        return bytes(self._context.wrap(offer, False).message)


FIRST_TOKENS: dict[str, Callable[[bytes, bytes], bytes]] = {
    "nothing": lambda _own, _other: b"",
    "noise": lambda _own, _other: bytes(range(256)) * 4,
    "as large as a frame may be": lambda own, _other: own[:2] + bytes(250_000),
    "cut": lambda own, _other: own[:-5],
    "longer": lambda own, _other: own + bytes(100),
    "a bit of the middle turned": lambda own, _other: own[:60] + bytes([own[60] ^ 1]) + own[61:],
    "of another login": lambda _own, other: other,
}


@pytest.mark.parametrize("attack", FIRST_TOKENS)
def test_hostile_broker_cannot_prove_itself(service_keytab: Path, alice: Path, attack: str) -> None:
    own, other = Acceptor(service_keytab, alice), Acceptor(service_keytab, alice)
    with pytest.raises(AuthenticationError, match="GSSAPI: ") as caught:
        own.client.step(FIRST_TOKENS[attack](own.reply, other.reply))
    assert not own.client.complete
    assert len(str(caught.value)) < 400


OFFERS: dict[str, Callable[[Acceptor, Acceptor], bytes]] = {
    "encryption alone": lambda own, _other: own.signed(b"\x04\x00\xff\xff"),
    "signatures alone": lambda own, _other: own.signed(b"\x02\x00\xff\xff"),
    "no layer at all": lambda own, _other: own.signed(bytes(4)),
    "too long": lambda own, _other: own.signed(b"\x01" * 100_000),
    "empty": lambda own, _other: own.signed(b""),
    "not signed": lambda _own, _other: b"\x01\x00\x00\x00",
    "signed in another login": lambda _own, other: other.signed(b"\x01\x00\x00\x00"),
    "changed": lambda own, _other: own.signed(b"\x01\x00\x00\x00")[:-1] + b"?",
}


@pytest.mark.parametrize("attack", OFFERS)
def test_hostile_broker_cannot_change_the_security_layer(service_keytab: Path, alice: Path, attack: str) -> None:
    own, other = Acceptor(service_keytab, alice), Acceptor(service_keytab, alice)
    for each in (own, other):
        assert each.client.step(each.reply) == b""
    with pytest.raises(AuthenticationError, match=r"GSSAPI: .*\bthe broker\b") as caught:
        own.client.step(OFFERS[attack](own, other))
    assert not own.client.complete
    assert len(str(caught.value)) < 400
