"""`-b HOST` without a port: 9092, for every command."""

import pytest

from kctl.cli.exit_codes import ExitCode
from tests.cli.processes import kctl

HOSTS = "kctl-a.invalid,kctl-b.invalid,kctl-c.invalid"


@pytest.mark.parametrize("command", [("probe", "--bootstrap"), ("topics", "list", "-b"), ("consume", "t", "-e", "-b")])
def test_servers_without_a_port_are_dialled_at_9092(command: tuple[str, ...]) -> None:
    ended = kctl(*command, HOSTS, "--api-timeout", "3s", "-v")
    told = " ".join((ended.stderr + ended.stdout.decode()).split())
    assert ended.code == ExitCode.DNS, told
    assert "kctl-a.invalid:9092" in told
    assert "note: --bootstrap kctl-c.invalid has no port: kctl uses port 9092" in told


def test_note_on_the_default_port_is_for_verbose_only() -> None:
    assert "has no port" not in kctl("topics", "list", "-b", HOSTS, "--api-timeout", "1s").stderr


@pytest.mark.parametrize(("entry", "advice"), [("::1", "[::1]:9092"), ("9093", "localhost:9093"), ("a:", "a:9092")])
def test_entry_that_may_be_a_mistake_is_refused_with_advice(entry: str, advice: str) -> None:
    ended = kctl("probe", "--bootstrap", entry)
    assert ended.code == ExitCode.USAGE
    assert advice in " ".join(ended.stderr.split())
