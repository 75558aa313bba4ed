"""No secret reaches any stream, whatever a command does with it."""

import pytest

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
        *command, "-b", bootstrap, "--security-protocol", protocol, "-X", "sasl.mechanism=PLAIN", "-v",
        "--api-timeout", "1s", stdin=b"x\n", environ={"KCTL_SASL_JAAS_CONFIG": jaas},
    )  # fmt: skip
    assert ended.code not in (0, 1)
    assert CANARY not in ended.stderr
    assert CANARY.encode() not in ended.stdout
