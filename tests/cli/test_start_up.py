"""Modules that each command imports: start-up time is made of imports, and these limits cannot flicker as times do.

The times themselves are measured by benchmarks/bench_start_up.py.
"""

import select
import subprocess
import sys
from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from pathlib import Path
from random import Random
from typing import NamedTuple

import pytest

from kctl.cli.app import COMMANDS
from kctl.client.records import is_compiled
from kctl.version import VERSION
from tests.cli.processes import BOUND_S, PYTHON, ROOT, environment, kctl
from tests.unit.cli.probe.report.fleets import NodeTruth, probe_lines, write

pytestmark = pytest.mark.process

NEVER = {"asyncio", "pyspark", "pyarrow", "pydantic", "multiprocessing", "tomli_w", "yaml", "numpy"}
NOT_WITHOUT_TLS = {"ssl"}
NOT_OFF_A_TERMINAL = {"rich"}
EVERYWHERE = {"annotated_doc", "shellingham", "sitecustomize", "typer"}
"""Distributions that every run may import."""

_TEMPLATE = """
import os, sys
import kctl.__main__, kctl.cli.app
for line in sys.stdin:
    child = os.fork()
    if not child:
        answer, null = os.dup(1), os.open(os.devnull, os.O_RDWR)
        for number in range(3):
            os.dup2(null, number)
        sys.argv = ["kctl", *line[:-1].split(chr(31))]
        kctl.__main__.main()
        os.write(answer, (" ".join(sys.modules) + chr(10)).encode())
        os._exit(0)
    os.waitpid(child, 0)
"""
"""A process that has imported the root of the command line, as every run does first, and forks for each run."""


class Template:
    """The process, which returns the modules of each run."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(
            [PYTHON, "-c", _TEMPLATE], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment()
        )

    def modules(self, *arguments: str) -> set[str]:
        """Return the modules of a run."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write("\x1f".join(arguments).encode() + b"\n")
        self.process.stdin.flush()
        assert select.select([self.process.stdout], [], [], BOUND_S)[0], "the run did not end within the bound"
        modules = set(self.process.stdout.readline().decode().split())
        assert modules, "the run did not reach its end"
        return modules


@pytest.fixture(scope="module")
def template() -> Iterator[Template]:
    template = Template()
    yield template
    template.process.kill()
    template.process.communicate()


def _modules_of(code: str, *arguments: str) -> set[str]:
    ended = subprocess.run(
        [PYTHON, "-c", code, *arguments], capture_output=True, env=environment(), timeout=BOUND_S, check=True
    )
    return set(ended.stdout.decode().splitlines()[-1].split())


@pytest.mark.parametrize("flag", ["--version", "-V"])
def test_version(flag: str) -> None:
    assert kctl(flag) == (0, f"kctl {VERSION}\n".encode(), "")


@pytest.mark.parametrize("flags", [("--version", "-v"), ("-V", "--verbose")])
def test_verbose_version_says_whether_the_record_module_is_compiled(flags: tuple[str, str]) -> None:
    ended = kctl(*flags)
    first, second, third = ended.stdout.decode().splitlines()
    assert (ended.code, first, second.split()[0], ended.stderr) == (0, f"kctl {VERSION}", "Python", "")
    assert third.startswith("record module: compiled" if is_compiled() else "record module: Python (")


def test_version_imports_nothing_but_itself() -> None:
    code = "import sys; from kctl.__main__ import main; main(); print(*sys.modules)"
    nothing = _modules_of("import sys; print(*sys.modules)")
    assert _modules_of(code, "--version") - nothing == {"kctl", "kctl.__main__", "kctl.version"}


def test_version_beside_other_arguments() -> None:
    assert kctl("--version", "consume").stdout == f"kctl {VERSION}\n".encode()


class Row(NamedTuple):
    """A run, and its limits."""

    arguments: tuple[str, ...]
    ceiling: int
    """Most modules of kctl and of distributions."""
    without: AbstractSet[str]
    """Packages and modules that the run must not import, with their submodules."""

    def check(self, modules: set[str]) -> None:
        """Compare the imported modules with the limits."""
        never = NEVER | NOT_WITHOUT_TLS | NOT_OFF_A_TERMINAL | self.without
        assert not {name for name in modules if any(f"{name}.".startswith(f"{each}.") for each in never)}
        others = {name for name in modules if name.partition(".")[0] not in sys.stdlib_module_names}
        # Not counted: __main__, and what an installer or a system hooks in.
        counted = {name for name in others if not name.startswith("_") and name != "sitecustomize"}
        foreign = {name.partition(".")[0] for name in counted} - {"kctl"}
        assert foreign <= EVERYWHERE
        assert len(counted) <= self.ceiling, sorted(counted)


SANDBOX = {"kctl.sandbox"}
SPARK = {"kctl.pipeline.jobs", "kctl.pipeline.running", "kctl.pipeline.session", "kctl.pipeline.source"}
ADMIN, CONSUMER, PRODUCER = {"kctl.client.admin"}, {"kctl.client.consumer"}, {"kctl.client.producer"}
LIVE_VIEW = {"kctl.cli.view"}
WHY = {"kctl.why"}
DECODING = {"kctl.serdes.avro", "kctl.serdes.protobuf", "kctl.serdes.json_schema", "fastavro", "google.protobuf"}
OFFLINE = SANDBOX | SPARK | WHY | DECODING | LIVE_VIEW | ADMIN | CONSUMER | PRODUCER | {
    "kctl.client.network", "kctl.client.protocol", "kctl.client.runtime", "socket"
}  # fmt: skip
"""Help, and a mistake in the command line, need no client."""
OPERATOR = SANDBOX | SPARK | WHY | DECODING | CONSUMER | PRODUCER | {"kctl.client.records"}
"""Admin commands read and write no records."""

HELPS = {"help-json": 70, "wait": 92, "pipeline": 120}
"""The ceilings of `kctl COMMAND --help` other than 100."""

EXPORT = ("pipeline", "export", "t", "--to", "/nonexistent/x")
RUNS = [
    Row(("consume", "t"), 260, SANDBOX | SPARK | WHY | DECODING | ADMIN | PRODUCER),
    Row(("consume", "t", "-o", "strat"), 100, OFFLINE),
    Row(("produce", "t"), 244, SANDBOX | SPARK | WHY | DECODING | ADMIN | CONSUMER),
    Row(("produce", "t", "-f", "%k%v"), 140, OFFLINE),
    Row(("probe",), 190, SANDBOX | SPARK | WHY | DECODING | LIVE_VIEW | ADMIN | CONSUMER | PRODUCER),
    Row(("probe", "report", "/nonexistent"), 110, OFFLINE),
    Row(("topics", "list"), 220, OPERATOR | LIVE_VIEW),
    Row(("configs", "show", "topic", "t"), 220, OPERATOR | LIVE_VIEW),
    Row(("topics", "alter", "t", "-p", "3"), 220, OPERATOR | LIVE_VIEW),
    Row(("topics", "offsets", "t"), 220, OPERATOR | LIVE_VIEW),
    Row(("acls", "list"), 220, OPERATOR | LIVE_VIEW),
    Row(("users", "list"), 221, OPERATOR | LIVE_VIEW),
    Row(("quotas", "list"), 220, OPERATOR | LIVE_VIEW),
    Row(("cluster", "describe"), 213, OPERATOR | LIVE_VIEW),
    Row(("brokers", "disks"), 214, OPERATOR | LIVE_VIEW),
    Row(("why", "group", "g"), 270, OPERATOR - WHY | LIVE_VIEW),
    Row(("partitions", "list"), 220, OPERATOR | LIVE_VIEW),
    Row(("partitions", "plan", "--exclude-brokers", "1"), 225, OPERATOR | LIVE_VIEW),
    Row(("partitions", "move", "/nonexistent"), 231, OPERATOR),
    Row(("wait", "brokers", "1"), 211, OPERATOR | LIVE_VIEW),
    Row(("groups", "list"), 220, OPERATOR | LIVE_VIEW),
    Row(("groups", "lag", "g"), 231, OPERATOR | LIVE_VIEW),
    Row(("api", "ListGroups"), 212, OPERATOR | LIVE_VIEW),
    Row(("bench", "produce"), 223, OPERATOR),
    Row(("bench", "consume"), 223, OPERATOR),
    Row(("bench", "consume", "--topic", "t"), 286, SANDBOX | SPARK | WHY | DECODING | PRODUCER),
    Row(("bench", "end-to-end"), 223, OPERATOR),
    Row(("bench", "end-to-end", "--rate", "fast"), 100, OFFLINE),
    Row(("profile", "list"), 100, OFFLINE),
    Row(("profile", "show"), 100, OFFLINE),
    Row(("profile", "show", "nobody"), 100, OFFLINE),
    Row(("profile", "check"), 100, OFFLINE),
    Row(EXPORT, 340, SANDBOX | WHY | DECODING | PRODUCER),
    Row((*EXPORT, "--dry-run"), 331, SANDBOX | WHY | DECODING | LIVE_VIEW | PRODUCER),
    Row((*EXPORT, "--master", "mesos"), 120, OFFLINE),
    Row(("pipeline", "import", "/nonexistent"), 274, SANDBOX | WHY | DECODING | CONSUMER | PRODUCER),
    Row(("pipeline", "mirror", "t", "--to-topic", "u"), 332, SANDBOX | WHY | DECODING | PRODUCER),
    Row(("pipeline", "mirror", "t"), 120, OFFLINE),
    Row(("pipeline", "verify", "t", "--to-topic", "u"), 340, SANDBOX | WHY | DECODING | PRODUCER),
]
"""Runs against a refused address, and mistakes in the command line."""
ALONE = [
    Row(("--help",), 70, OFFLINE | {"kctl.cli.options", "kctl.cli.settings", "kctl.client.config"}),
    Row(("explain", "18"), 75, OFFLINE | {"kctl.cli.options", "kctl.cli.settings", "kctl.client.config"}),
    Row(("sandbox", "start", "--topic", "%%"), 330, WHY | SPARK | ADMIN | CONSUMER | PRODUCER),
    Row(
        ("sandbox", "fault", "--control", "/nonexistent", "status"), 320,
        WHY | SPARK | ADMIN | CONSUMER | PRODUCER | {"kctl.client.network"},
    ),
]  # fmt: skip
"""Runs that send no request."""
LIMITS = ("--api-timeout", "200ms", "--connect-timeout", "100ms", "--close-timeout", "1s")


def test_every_module_that_must_not_be_imported_exists() -> None:
    named = set().union(*(row.without for row in (*RUNS, *ALONE)))
    ours = {name: ROOT.joinpath(*name.split(".")) for name in named if name.startswith("kctl.")}
    assert [name for name, path in ours.items() if not path.is_dir() and not path.with_suffix(".py").exists()] == []


@pytest.mark.parametrize("name", COMMANDS)
def test_help_of_a_command_imports_that_command_and_no_client(name: str, template: Template) -> None:
    Row((name, "--help"), HELPS.get(name, 100), OFFLINE).check(template.modules(name, "--help"))


@pytest.mark.parametrize("row", RUNS, ids=lambda row: " ".join(row.arguments))
def test_run_against_a_cluster_imports_no_more_than_its_limits(row: Row, refused: str, template: Template) -> None:
    row.check(template.modules(*row.arguments, "-b", refused, *LIMITS))


@pytest.mark.parametrize("row", ALONE, ids=lambda row: " ".join(row.arguments))
def test_run_without_a_cluster_imports_no_more_than_its_limits(row: Row, template: Template) -> None:
    row.check(template.modules(*row.arguments))


def test_report_imports_neither_spark_nor_the_client(tmp_path: Path, template: Template) -> None:
    write(tmp_path / "a.jsonl", probe_lines([NodeTruth("a:9092")], Random(1), 3))
    page = tmp_path / "page.html"
    arguments = ("probe", "report", str(tmp_path / "a.jsonl"), "--html", str(page))
    modules = template.modules(*arguments)
    assert page.exists()
    Row(arguments, 120, OFFLINE).check(modules)


def test_completion_of_names_does_without_the_command_line(refused: str) -> None:
    code = (
        "import sys\n"
        "from kctl.cli.completion import lookup\n"
        "try:\n"
        f"    lookup.lines_of('topics', {{'--bootstrap': ['{refused}']}}, 200)\n"
        "except Exception:\n"
        "    print(*sys.modules)\n"
    )
    modules = _modules_of(code)
    assert "kctl.client.admin" in modules
    assert not modules & (NEVER | NOT_WITHOUT_TLS | {"typer", "click", "kctl.cli.app"})


def test_tls_is_imported_when_it_is_spoken(refused: str, template: Template) -> None:
    assert "ssl" in template.modules("probe", "-b", refused, "--security-protocol", "SSL", *LIMITS)


def test_decoding_imports_tls_for_a_registry_alone(refused: str, tmp_path: Path, template: Template) -> None:
    schema = tmp_path / "a.avsc"
    schema.write_text('"int"')
    command = ("consume", "t", "-b", refused, "--api-timeout", "1ms", "--decode", "avro", "--avsc", str(schema))
    without = template.modules(*command)
    with_one = template.modules(*command, "-X", f"schema.registry.url=http://{refused}")
    assert "fastavro" in without & with_one
    assert not without & (NOT_WITHOUT_TLS | {"http.client"})
    assert "http.client" in with_one
