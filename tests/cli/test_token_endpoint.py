"""A token endpoint that cannot be reached: the exit code is that of the fault, and the hint names the property."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

import pytest

from kctl.cli.exit_codes import ExitCode
from tests.cli.processes import address_of, kctl, running
from tests.support.faults import peers

NAME = "sasl.oauthbearer.token.endpoint.url"
FAULTS = [
    (peers.refused, ExitCode.REFUSED, "connection refused"),
    (lambda: nullcontext("token.invalid:80"), ExitCode.DNS, "token.invalid:80"),
    (peers.blackhole, ExitCode.CONNECT_TIMEOUT, "within 300ms (--connect-timeout)"),
    (peers.silent, ExitCode.CONNECT_TIMEOUT, "within 1s (--connect-timeout)"),
]


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A sandbox whose listener requires SASL."""
    password = tmp_path_factory.mktemp("sandbox") / "password"
    password.write_text("secret-of-ann\n")
    up = ("sandbox", "start", "--nodes", "1", "--port", "0", "-q", "--sasl-user", f"ann={password}")
    with running(*up) as process:
        yield address_of(process)


@pytest.mark.parametrize("command", [("topics", "list"), ("probe",)], ids=" ".join)
@pytest.mark.parametrize(("fault", "code", "text"), FAULTS, ids=["refused", "nxdomain", "blackhole", "silent"])
def test_unreachable_token_endpoint_has_the_exit_code_of_its_fault(
    servers: str,
    tmp_path: Path,
    command: tuple[str, ...],
    fault: Callable[[], AbstractContextManager[str]],
    code: ExitCode,
    text: str,
) -> None:
    file = tmp_path / "client.properties"
    with fault() as place:
        given = {
            "bootstrap.servers": servers,
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": "OAUTHBEARER",
            "sasl.oauthbearer.client.id": "kctl",
            "sasl.oauthbearer.client.secret": "canary-7165",
            "sasl.login.connect.timeout.ms": "300",
            NAME: f"http://{place}/token",
            "sasl.oauthbearer.token.endpoint.allow.http": "true",
        }
        file.write_text("".join(f"{name}={value}\n" for name, value in given.items()))
        limits = ("--connect-timeout", "1s", "--api-timeout", "3s")
        ended = kctl(*command, "--command-config", str(file), *limits)
    assert ended.code == code, ended.stderr
    assert text in ended.stderr + ended.stdout.decode()
    assert fault is peers.silent or command == ("probe",) or f"hint: check {NAME}" in ended.stderr
