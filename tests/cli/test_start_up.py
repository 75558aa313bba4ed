"""What each command imports: start-up time is made of imports, and these lists cannot flicker as times do.

The times themselves are measured by benchmarks/start_up.py.
"""

import subprocess

import pytest

from kctl.version import VERSION
from tests.cli.processes import BOUND_S, PYTHON, environment, kctl

NEVER = {"asyncio", "pyspark", "pyarrow", "pydantic", "multiprocessing", "tomli_w"}
NOT_WITHOUT_TLS = {"ssl"}
NOT_OFF_A_TERMINAL = {"rich"}

_SHOW_MODULES = """
import sys
from kctl.__main__ import main
main()
print(*sys.modules, file=sys.stderr)
"""


def _modules(*arguments: str) -> set[str]:
    ended = subprocess.run(
        [PYTHON, "-c", _SHOW_MODULES, *arguments],
        capture_output=True,
        env=environment(),
        timeout=BOUND_S,
        check=False,
    )
    return set(ended.stderr.decode().splitlines()[-1].split())


def _modules_of_nothing() -> set[str]:
    code = "import sys; print(*sys.modules)"
    ended = subprocess.run([PYTHON, "-c", code], capture_output=True, env=environment(), timeout=BOUND_S, check=True)
    return set(ended.stdout.decode().split())


@pytest.mark.parametrize("flag", ["--version", "-V"])
def test_version(flag: str) -> None:
    assert kctl(flag) == (0, f"kctl {VERSION}\n".encode(), "")


def test_version_imports_nothing_but_itself() -> None:
    assert _modules("--version") - _modules_of_nothing() == {"kctl", "kctl.__main__", "kctl.version"}


def test_version_beside_other_arguments() -> None:
    assert kctl("--version", "consume").stdout == f"kctl {VERSION}\n".encode()


def test_help_imports_no_command_and_no_client() -> None:
    modules = _modules("--help")
    assert not modules & (NEVER | NOT_WITHOUT_TLS | NOT_OFF_A_TERMINAL)
    of_client = {name for name in modules if name.startswith("kctl.client.")}
    assert of_client <= {"kctl.client.clock", "kctl.client.errors"}
    assert "socket" not in modules


@pytest.mark.parametrize(
    "arguments",
    [
        ("consume", "--help"),
        ("produce", "--help"),
        ("probe", "--help"),
        ("topics", "--help"),
        ("groups", "--help"),
        ("bench", "produce", "--help"),
        ("consume", "t", "--api-timeout", "200ms"),
        ("produce", "t", "--api-timeout", "200ms"),
        ("probe", "--api-timeout", "200ms"),
        ("topics", "list", "--api-timeout", "200ms"),
        ("groups", "list", "--api-timeout", "200ms"),
    ],
)
def test_commands_import_what_they_need_only(arguments: tuple[str, ...], refused: str) -> None:
    servers = () if "--help" in arguments else ("-b", refused)
    modules = _modules(*arguments, *servers)
    assert not modules & (NEVER | NOT_WITHOUT_TLS | NOT_OFF_A_TERMINAL)


def test_help_and_mistakes_of_consume_import_no_consumer() -> None:
    for arguments in (("consume", "--help"), ("consume", "t", "-o", "strat")):
        assert not {
            name
            for name in _modules(*arguments)
            if name.startswith(("kctl.client.consumer.consumer", "kctl.client.net"))
        }


def test_help_and_mistakes_of_produce_import_no_producer() -> None:
    for arguments in (("produce", "--help"), ("produce", "t", "-f", "%k%v")):
        assert not {
            name
            for name in _modules(*arguments)
            if name.startswith(("kctl.client.producer", "kctl.client.net", "kctl.cli.produce.run"))
        }


def test_tls_is_imported_when_it_is_spoken(refused: str) -> None:
    assert "ssl" in _modules("probe", "-b", refused, "--security-protocol", "SSL")
