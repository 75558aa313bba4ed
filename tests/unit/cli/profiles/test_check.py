"""What `kctl profile check` finds, and that it asks, runs and prints nothing to find it."""

from pathlib import Path

import pytest

from kctl.cli.profiles.check import Level, ProfileFinding, check_profile
from kctl.cli.profiles.files import ProfileFile, read_content
from kctl.cli.profiles.references import Sources
from kctl.client.clock import SystemClock
from tests.unit.security.certificates import Authority

CANARY = "canary-9917"
LOGIN = "org.apache.kafka.common.security.plain.PlainLoginModule required username='a' password='{}';"


class Scenario:
    """A folder with a profile file in it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def check(
        self, properties: dict[str, str], *, mode: int = 0o600, project: bool = False, **environ: str
    ) -> list[tuple[str, str | None, str]]:
        properties = {"bootstrap.servers": "a:9092", **properties}
        file = ProfileFile(self.folder / "f", b"", mode, read_content(b"", "f"), project)
        file = file._replace(content=file.content._replace(profiles={"p": properties}))
        sources = Sources({"PATH": "/usr/bin:/bin", **environ}, self.folder, SystemClock(), _never)
        found = check_profile("p", file, sources)
        assert CANARY not in str(found)
        assert found == sorted(found, key=lambda finding: list(Level).index(finding.level))
        return [(finding.level.value, finding.key, finding.text) for finding in found]


def _never(words: str) -> str:
    raise AssertionError("nobody is asked")


@pytest.fixture
def scenario(tmp_path: Path) -> Scenario:
    return Scenario(tmp_path)


def test_nothing_to_say(scenario: Scenario) -> None:
    assert scenario.check({"acks": "all", "group.id": "g", "client.id": "${env:ME}"}, ME="me") == []


@pytest.mark.parametrize(
    ("key", "value", "level", "said"),
    [
        ("no.such", "1", "error", "unknown property 'no.such'"),
        ("request.timeot.ms", "1", "error", "did you mean request.timeout.ms?"),
        ("request.timeout.ms", "soon", "error", "invalid request.timeout.ms 'soon': use an integer"),
        ("config.providers", "env", "error", "kctl does not support config providers"),
        ("client.id", "${env:A", "error", "is not closed"),
        ("client.id", "${cmd:'}", "error", "the command is invalid"),
        ("key.serializer", "x", "note", "ignored: kctl accepts keys as bytes: serialize keys before send()"),
        ("client.id", "${env:NOT_THERE}", "warning", "the environment variable is not set"),
        ("client.id", "${file:none}", "error", "none: No such file or directory"),
        ("client.id", "${cmd:no-such-program x}", "warning", "program no-such-program not found"),
        ("sasl.oauthbearer.token.file", "/none/token", "error", "cannot read /none/token"),
        ("ssl.keystore.location", "/none/k.pem", "error", "cannot read /none/k.pem"),
    ],
)
def test_single_properties(scenario: Scenario, key: str, value: str, level: str, said: str) -> None:
    found = scenario.check({key: value})
    assert (found[0][0], found[0][1]) == (level, key)
    assert said in found[0][2]


@pytest.mark.parametrize(
    ("properties", "level", "key", "said"),
    [
        ({"socket.connection.setup.timeout.ms": "9", "default.api.timeout.ms": "8"}, "warning",
         "socket.connection.setup.timeout.ms", "has no effect"),
        ({"delivery.timeout.ms": "5", "request.timeout.ms": "6"}, "error", "delivery.timeout.ms", "conflicts with"),
        ({"heartbeat.interval.ms": "9", "session.timeout.ms": "9"}, "error", "heartbeat.interval.ms", "conflicts with"),
        ({"request.timeout.ms": "9", "default.api.timeout.ms": "8"}, "warning", "request.timeout.ms", "has no effect"),
        ({"enable.idempotence": "true", "acks": "1"}, "error", "enable.idempotence", "conflicts with"),
        ({"security.protocol": "SASL_SSL"}, "error", "sasl.mechanism", "sasl.mechanism is not set"),
        ({"ssl.key.password": "${env:A}"}, "warning", "ssl.key.password", "has no effect: security.protocol=PLAINTEXT"),
        ({"sasl.mechanism": "PLAIN"}, "warning", "sasl.mechanism", "does not use SASL"),
        ({"bootstrap.servers": "zk:2181"}, "warning", "bootstrap.servers", "zk:2181: the port of ZooKeeper"),
        ({"bootstrap.servers": "b:9093"}, "warning", "bootstrap.servers", "b:9093: the port usually uses TLS"),
        ({"security.protocol": "SSL"}, "note", "bootstrap.servers", "a:9092: the port usually does not use TLS"),
    ],
)  # fmt: skip
def test_values_together(scenario: Scenario, properties: dict[str, str], level: str, key: str, said: str) -> None:
    found = scenario.check(properties, A="x")
    assert (level, key) in [each[:2] for each in found]
    assert any(said in each[2] for each in found if each[:2] == (level, key))


def test_clouds_that_speak_tls_on_9092(scenario: Scenario) -> None:
    servers = {"bootstrap.servers": "pkc-1.eu.aws.confluent.cloud:9092", "security.protocol": "SSL"}
    assert scenario.check(servers) == []


def test_without_servers(scenario: Scenario) -> None:
    file = ProfileFile(Path("f"), b"", 0o600, read_content(b"[profiles.p]\n", "f"))
    sources = Sources({}, Path("/"), SystemClock())
    assert check_profile("p", file, sources) == [
        ProfileFinding(Level.NOTE, "bootstrap.servers", "not set: each command needs -b or $KCTL_BOOTSTRAP_SERVERS")
    ]


def test_logins(scenario: Scenario) -> None:
    plain = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN"}
    assert scenario.check({**plain, "sasl.jaas.config": LOGIN.format("${env:P}")}, P=CANARY) == []
    assert scenario.check({**plain, "sasl.jaas.config": LOGIN.format("${prompt:P}")}) == []
    assert scenario.check({**plain, "sasl.jaas.config": LOGIN.format("${cmd:touch ran; echo x}")}) == []
    assert not (scenario.folder / "ran").exists()
    for broken in (LOGIN.format(CANARY).rstrip(";"), LOGIN.format(CANARY).replace("password", "passwort")):
        found = scenario.check({**plain, "sasl.jaas.config": broken})
        assert found[0][:2] == ("error", "sasl.jaas.config")
    scram = {**plain, "sasl.mechanism": "SCRAM-SHA-256", "sasl.jaas.config": LOGIN.format("${env:P}")}
    assert "needs the login module ScramLoginModule" in scenario.check(scram, P="x")[0][2]


def test_who_may_read_and_write(scenario: Scenario) -> None:
    secret = {"security.protocol": "SSL", "bootstrap.servers": "a:9093", "ssl.truststore.password": CANARY}
    assert scenario.check(secret) == []
    found = scenario.check(secret, mode=0o644)
    assert [each[:2] for each in found] == [("warning", "ssl.truststore.password")]
    assert "chmod 600" in found[0][2]
    assert "the project file" in scenario.check(secret, project=True)[0][2]
    assert scenario.check({**secret, "ssl.truststore.password": "${env:P}"}, mode=0o644, P="x") == []
    assert "is writable by all users" in scenario.check({}, mode=0o602)[0][2]


def test_key_files_are_tried(scenario: Scenario) -> None:
    pem = Authority(scenario.folder / "ca", "ca").issue("me")
    at = pem.index("-----BEGIN CERTIFICATE")
    key, certificate = scenario.folder / "key.pem", scenario.folder / "certificate.pem"
    key.write_text(pem[:at])
    certificate.write_text(pem[at:])
    tls = {"security.protocol": "SSL", "bootstrap.servers": "a:9093"}
    inline = {
        **tls,
        "ssl.keystore.certificate.chain": "${file:certificate.pem}",
        "ssl.keystore.key": "${file:key.pem}",
    }
    key.chmod(0o600)
    assert scenario.check(inline) == []
    key.chmod(0o640)
    assert [each[:2] for each in scenario.check(inline)] == [("warning", "ssl.keystore.key")]
    key.chmod(0o600)
    certificate.write_text("-----BEGIN CERTIFICATE-----\nx\n-----END CERTIFICATE-----\n")
    assert scenario.check(inline)[0][0] == "error"
    (scenario.folder / "store").write_bytes(b"\xfe\xed\xfe\xed")
    found = scenario.check({**tls, "ssl.truststore.location": str(scenario.folder / "store")})
    assert "has the format JKS, which kctl cannot read: set ssl.truststore.location=" in found[0][2]
