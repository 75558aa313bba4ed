"""The examples of help and manual pages run on a sandbox, and end well."""

import re
import shlex
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from kctl.cli.examples import EXAMPLES, Ending, Example
from kctl.client.clock import SystemClock
from kctl.client.producer import Producer
from kctl.sandbox import ClusterSettings, Sandbox
from kctl.sandbox.server import ServedSandbox
from tests.cli.groups_scene import commit, fill, join
from tests.cli.processes import BOUND_S, KCTL, environment
from tests.docs.test_migration import parse
from tests.support.in_process import run_in_process

ALL = [example for examples in EXAMPLES.values() for example in examples]
FILES = {
    "client.properties": "bootstrap.servers=127.0.0.1:9092\n",
    ".kctl.toml": '[profiles.team]\n"bootstrap.servers" = "127.0.0.1:9092"\n',
    "password": "secret",
}
"""Files that the examples find in their folder."""
PREPARED = (
    (r"profile|\bdev\b", "profile create dev -b {bootstrap}", ""),
    (r"probe\.jsonl", "probe --output jsonl", "probe.jsonl"),
    (r"acls", "acls create --allow User:bob --operation read --topic orders", ""),
    (r"users", "users create bob --password-file password", ""),
    (r"plan\.json", "partitions plan orders --to-brokers 1", "plan.json"),
)
"""A pattern in examples, a command that is run before these examples, and the file of its output."""
SHELL = re.compile(r"[|<>&$;`*]")


@pytest.fixture
def scene() -> Iterator[ServedSandbox]:
    settings = ClusterSettings(authorizer=True, super_users=("User:ANONYMOUS",))
    with Sandbox(nodes=1, topics={"orders": 2, "copies": 2}, settings=settings).serve() as served:
        fill(served.bootstrap, "orders", {0: 12, 1: 3}, first_ms=SystemClock().wall_ms())
        commit(served.bootstrap, "billing", {("orders", 0): 4})
        with Producer({"bootstrap.servers": served.bootstrap, "transactional.id": "payments"}) as producer:
            producer.init_transactions(timeout=BOUND_S)
        with join(
            served.bootstrap, "workers", "copies", group_instance_id="worker-2", session_timeout_ms=6 * BOUND_S * 1000
        ):
            pass  # a static member stays when it closes
        yield served


def _environ(scene: ServedSandbox, folder: Path) -> dict[str, str]:
    program = folder / "bin" / "kctl"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {" ".join(KCTL)} "$@"\n')
    program.chmod(0o755)
    given = {"KCTL_BOOTSTRAP_SERVERS": scene.bootstrap, "HOME": str(folder), "PW": "secret"}
    environ = environment({**given, "XDG_CONFIG_HOME": str(folder / "config")})
    return {**environ, "PATH": f"{program.parent}:{environ['PATH']}"}


def _shell(line: str, environ: dict[str, str], folder: Path) -> subprocess.Popen[str]:
    pipe = subprocess.PIPE
    command = ["bash", "-o", "pipefail", "-c", line]
    return subprocess.Popen(
        command, cwd=folder, env=environ, text=True, stdin=subprocess.DEVNULL, stdout=pipe, stderr=pipe
    )


def _of(*endings: Ending) -> list[Example]:
    return [example for example in ALL if example.ending in endings]


def _prepare(example: Example, scene: ServedSandbox, environ: dict[str, str], folder: Path) -> None:
    for name, text in FILES.items():
        (folder / name).write_text(text)
    for pattern, line, output in PREPARED:
        if not re.search(pattern, example.line):
            continue
        ended = run_in_process(*shlex.split(line.format(bootstrap=scene.bootstrap)), environ=environ)
        assert ended.code == 0, f"{line}: {ended.stderr}"
        if output:
            (folder / output).write_bytes(ended.stdout)


@pytest.mark.parametrize("example", _of(Ending.BY_ITSELF), ids=lambda example: example.line[:70])
def test_example_ends_well(
    example: Example, scene: ServedSandbox, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A line without words of the shell runs in this process, which takes a tenth of the time."""
    monkeypatch.chdir(tmp_path)
    environ = _environ(scene, tmp_path)
    _prepare(example, scene, environ, tmp_path)
    if SHELL.search(example.line):
        process = _shell(example.line, environ, tmp_path)
        _, stderr = process.communicate(timeout=BOUND_S)
        code = process.returncode
    else:
        program, *arguments = shlex.split(example.line)
        assert program == "kctl"
        code, _, stderr = run_in_process(*arguments, environ=environ)
    assert code == 0, f"{example.line}: {stderr}"


@pytest.mark.parametrize("example", _of(Ending.BY_CTRL_C), ids=lambda example: example.line[:70])
def test_example_runs_until_ctrl_c(example: Example, scene: ServedSandbox, tmp_path: Path) -> None:
    process = _shell(f"exec {example.line}", _environ(scene, tmp_path), tmp_path)
    assert process.stdout is not None
    if "consume" in example.line:
        fill(scene.bootstrap, "orders", {0: 1})
    assert process.stdout.readline()
    process.send_signal(signal.SIGINT)
    _, stderr = process.communicate(timeout=BOUND_S)
    assert process.returncode in (0, 130), stderr


@pytest.mark.parametrize("example", _of(Ending.NEEDS_SPARK), ids=lambda example: example.line[:70])
def test_example_of_elsewhere_is_a_command_line_of_kctl(example: Example) -> None:
    parse(shlex.split(example.line)[1:])
