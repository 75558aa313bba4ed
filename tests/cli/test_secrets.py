"""No secret reaches any stream, whatever a command does with it."""

from base64 import b64encode
from pathlib import Path

import pytest

from kctl.sandbox import Sandbox
from kctl.sandbox.identity import SaslUsers
from kctl.sandbox.node import ListenerSecurity
from tests.cli.processes import kctl

CANARY = "canary-7731"
COMMAND_LINES = [("consume", "t", "-e"), ("produce", "t"), ("probe",), ("topics", "list"), ("topics", "delete", "t")]

LOGIN = "org.apache.kafka.common.security.plain.PlainLoginModule"
GOOD = f'{LOGIN} required username="alice" password="{CANARY}";'


@pytest.mark.parametrize("command", COMMAND_LINES, ids=" ".join)
@pytest.mark.parametrize(
    ("jaas", "protocol"),
    [
        (GOOD, "SASL_PLAINTEXT"),
        (GOOD, "SASL_SSL"),
        (f'{LOGIN} required username="alice" passwort="{CANARY}";', "SASL_PLAINTEXT"),
        (f'password="{CANARY}"', "SASL_PLAINTEXT"),
        (f'{LOGIN} required username="alice" password="{CANARY}', "SASL_PLAINTEXT"),
    ],
    ids=["plaintext", "tls", "misspelt", "not-jaas", "unfinished"],
)
def test_canary(command: tuple[str, ...], jaas: str, protocol: str, bootstrap: str) -> None:
    ended = kctl(
        *command, "-b", bootstrap, "--security-protocol", protocol, "-X", "sasl.mechanism=PLAIN", "-v", "--trace",
        "--api-timeout", "1s", stdin=b"x\n", environ={"KCTL_SASL_JAAS_CONFIG": jaas},
    )  # fmt: skip
    assert ended.code not in (0, 1)
    assert CANARY not in ended.stderr
    assert CANARY.encode() not in ended.stdout


WORKING = [
    ("consume", "t", "-e", "-v"),
    ("consume", "t", "-e", "--output", "jsonl"),
    ("produce", "t", "-v"),
    ("probe", "-v"),
    ("probe", "--output", "jsonl"),
    ("probe", "--output", "json"),
    ("probe", "--count", "2", "--interval", "10ms"),
    ("topics", "list"),
    ("topics", "describe", "t", "--output", "json"),
    ("topics", "create", "made"),
    ("topics", "delete", "gone", "--execute"),
]


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256"])
def test_a_login_that_works_leaves_no_trace_of_its_password(mechanism: str, tmp_path: Path) -> None:
    module = "plain.PlainLoginModule" if mechanism == "PLAIN" else "scram.ScramLoginModule"
    login = f'org.apache.kafka.common.security.{module} required username="alice" password="{CANARY}";'
    file = tmp_path / "client.properties"
    security = ListenerSecurity(users=SaslUsers({"alice": CANARY}))
    with Sandbox(nodes=1, topics={"t": 1, "gone": 1}, security=security).serve() as served:
        file.write_text(
            f"bootstrap.servers={served.bootstrap}\nsecurity.protocol=SASL_PLAINTEXT\n"
            f"sasl.mechanism={mechanism}\nsasl.jaas.config={login}\n"
        )
        for command in WORKING:
            ended = kctl(*command, "--command-config", str(file), "--trace", "--api-timeout", "10s", stdin=b"x\n")
            assert ended.code == 0, (command, ended)
            for secret in (CANARY, b64encode(CANARY.encode()).decode(), CANARY.encode().hex()):
                assert secret not in ended.stderr, command
                assert secret.encode() not in ended.stdout, command
