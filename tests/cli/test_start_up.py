"""What each command imports: start-up time is made of imports, and these lists cannot flicker as times do.

The times themselves are measured by benchmarks/bench_start_up.py.
"""

import subprocess
import sys
from pathlib import Path
from random import Random

import pytest

from kctl.cli.app import COMMANDS
from kctl.client.records import is_compiled
from kctl.version import VERSION
from tests.cli.processes import BOUND_S, PYTHON, environment, kctl
from tests.unit.cli.probe.report.fleets import NodeTruth, probe_lines, write

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


@pytest.mark.parametrize("flags", [("--version", "-v"), ("-V", "--verbose")])
def test_verbose_version_says_whether_the_record_module_is_compiled(flags: tuple[str, str]) -> None:
    ended = kctl(*flags)
    first, second, third = ended.stdout.decode().splitlines()
    assert (ended.code, first, second.split()[0], ended.stderr) == (0, f"kctl {VERSION}", "Python", "")
    assert third.startswith("record module: compiled" if is_compiled() else "record module: Python (")


def test_version_imports_nothing_but_itself() -> None:
    assert _modules("--version") - _modules_of_nothing() == {"kctl", "kctl.__main__", "kctl.version"}


def test_version_beside_other_arguments() -> None:
    assert kctl("--version", "consume").stdout == f"kctl {VERSION}\n".encode()


def test_help_imports_no_command_and_no_client() -> None:
    modules = _modules("--help")
    assert not modules & (NEVER | NOT_WITHOUT_TLS | NOT_OFF_A_TERMINAL)
    of_client = {name for name in modules if name.startswith("kctl.client.")}
    assert of_client <= {"kctl.client.clock", "kctl.client.errors", "kctl.client.kafka_error", "kctl.client.wording"}
    assert "socket" not in modules


def _packages(modules: set[str]) -> set[str]:
    """Return the packages that modules are of: those of kctl to their second level, others by their first name."""
    ours = {".".join(name.split(".")[:3]) for name in modules if name.startswith("kctl.")}
    for package in ("kctl.grammar", "kctl.why"):
        ours = {package if name.startswith(f"{package}.") else name for name in ours}
    foreign = {name.partition(".")[0] for name in modules} - set(sys.stdlib_module_names)
    return ours | {name for name in foreign if name != "kctl" and not name.startswith("_")}


ROOT = {
    "annotated_doc", "typer", "shellingham", "kctl.cli.click", "kctl.cli.commands",
    "kctl.__main__", "kctl.version", "kctl.cli", "kctl.cli.alarms", "kctl.cli.app", "kctl.cli.data_out",
    "kctl.cli.environment",
    "kctl.cli.exit_codes", "kctl.cli.failures", "kctl.cli.formats", "kctl.cli.interrupts", "kctl.cli.spellings",
    "kctl.client", "kctl.client.clock", "kctl.client.errors", "kctl.client.kafka_error", "kctl.client.wording",
    "kctl.pipeline", "kctl.pipeline.job_errors", "kctl.serdes", "kctl.serdes.errors",
}  # fmt: skip
"""What every run may import: the root command, and how errors become exit codes."""
OPTIONS = {
    "kctl.cli.login", "kctl.cli.notices", "kctl.cli.options", "kctl.cli.profiles", "kctl.cli.settings",
    "kctl.cli.suggestions",
    "kctl.grammar",
    "kctl.client.broker_errors", "kctl.client.config", "kctl.client.events",
    "kctl.client.security",
}  # fmt: skip
"""What commands with the shared options may import besides: names and kinds of properties, no client."""
NETWORK = {
    "kctl.client.backoff", "kctl.client.cluster", "kctl.client.metadata", "kctl.client.metadata_updater",
    "kctl.client.lifetime", "kctl.client.network", "kctl.client.protocol", "kctl.client.hedged_requests",
    "kctl.client.requests", "kctl.client.runtime",
    "kctl.client.topic_names",
}  # fmt: skip
CLIENT = NETWORK | {"kctl.client.cluster_client"}
OF_ADMIN = {"kctl.client.acls", "kctl.client.admin", "kctl.client.loop", "kctl.client.quotas"}
ADMIN = CLIENT | OF_ADMIN | {"kctl.cli.admin_client"}
PRODUCER = {"kctl.client.producer", "kctl.client.records", "kctl.client.loop"}
CONSUMER = {"kctl.client.consumer", "kctl.client.records", "kctl.client.loop"}

HELP: dict[str, set[str]] = {
    "consume": {"kctl.cli.consume", "kctl.cli.decode"},
    "produce": {"kctl.cli.produce", "kctl.cli.decode", "kctl.cli.input"},
    "probe": {"kctl.cli.probe"},
    "topics": {"kctl.cli.topics", "kctl.cli.changes"},
    "apply": {"kctl.cli.apply", "kctl.cli.changes"},
    "configs": {"kctl.cli.configs", "kctl.cli.changes"},
    "schemas": {"kctl.cli.schemas", "kctl.cli.changes"},
    "acls": {"kctl.cli.acls", "kctl.cli.changes"},
    "users": {"kctl.cli.users", "kctl.cli.changes"},
    "quotas": {"kctl.cli.quotas", "kctl.cli.changes"},
    "cluster": {"kctl.cli.cluster"},
    "brokers": {"kctl.cli.brokers", "kctl.cli.changes"},
    "partitions": {"kctl.cli.partitions", "kctl.cli.changes"},
    "wait": {"kctl.cli.wait"},
    "why": {"kctl.cli.why"},
    "doctor": {"kctl.cli.why"},
    "groups": {"kctl.cli.groups", "kctl.cli.changes"},
    "transactions": {"kctl.cli.transactions", "kctl.cli.changes"},
    "api": {"kctl.cli.api"},
    "profile": {"kctl.cli.profile", "kctl.cli.changes"},
    "bench": {"kctl.cli.bench"},
    "pipeline": {"kctl.cli.pipeline", "kctl.cli.decode", "kctl.cli.changes", "kctl.pipeline.locations"},
    "completion": {"kctl.cli.completion", "kctl.cli.changes"},
    "help-json": {"kctl.cli.help_json"},
    "explain": {"kctl.cli.explain"},
    "sandbox": {"kctl.cli.sandbox"},
}
"""What `kctl COMMAND --help` imports beyond ROOT and OPTIONS."""

BENCH = HELP["bench"] | CLIENT | {"kctl.cli.produce", "kctl.cli.uncompiled", "kctl.cli.view"} | OF_ADMIN
SPARK = {
    "kctl.pipeline.jobs", "kctl.pipeline.running", "kctl.pipeline.session", "kctl.pipeline.session_folders",
    "kctl.pipeline.shipping", "kctl.pipeline.spark_archive", "kctl.pipeline.spark_process",
}  # fmt: skip
"""What runs tasks; pyspark and pyarrow are imported when a plan has shown that there is something to do."""
JOBS = HELP["pipeline"] | SPARK | CLIENT | OF_ADMIN | {
    "kctl.pipeline.group_selection", "kctl.pipeline.references", "kctl.pipeline.store_waits",
}  # fmt: skip
RANGES = CONSUMER | {
    "kctl.pipeline.isolation",
    "kctl.pipeline.range_fetch", "kctl.pipeline.ranges", "kctl.pipeline.resume_point", "kctl.pipeline.sizing",
}  # fmt: skip
MIRROR = JOBS | RANGES | {"kctl.pipeline.fingerprints", "kctl.pipeline.range_packing"}
FOLDERS = {
    "kctl.pipeline.export_files", "kctl.pipeline.isolation", "kctl.pipeline.object_store",
    "kctl.pipeline.range_packing", "kctl.pipeline.ranges", "kctl.pipeline.targets",
}  # fmt: skip
"""What jobs on exports import, which all give a task many small ranges."""
EXPORT = JOBS | RANGES | FOLDERS | {"kctl.pipeline.range_order"}
VERIFY = JOBS | RANGES | FOLDERS | {"kctl.pipeline.fingerprints", "kctl.pipeline.record_diff"}

NEAREST = {"kctl.cli.nearest_names"}
MIRRORED = {"kctl.pipeline.mirrored_offsets"}
MOVES = {"kctl.cli.document_file", "kctl.cli.overtime", "kctl.cli.view", "kctl.cli.wait_loop"}

REPORT = HELP["probe"] | {"kctl.cli.pipeline", "kctl.pipeline.locations"}
"""Which files a report may be of is what exports of the pipeline take, too."""

RUNS: list[tuple[tuple[str, ...], set[str]]] = [
    (("consume", "t"), HELP["consume"] | CLIENT | CONSUMER | {"kctl.cli.uncompiled", "kctl.cli.view"}),
    (("consume", "t", "-o", "strat"), HELP["consume"]),
    (("produce", "t"), HELP["produce"] | CLIENT | PRODUCER | {"kctl.cli.private_file", "kctl.cli.view"}),
    (("produce", "t", "-f", "%k%v"), HELP["produce"] | {"kctl.client.cluster", "kctl.client.records"}),
    (("probe",), HELP["probe"] | NETWORK | {"kctl.cli.trace", "kctl.client.probe"}),
    (("topics", "list"), HELP["topics"] | ADMIN | {"kctl.cli.overtime", "kctl.cli.topic_rows"}),
    (("configs", "show", "topic", "t"), HELP["configs"] | ADMIN | NEAREST),
    (
        ("topics", "alter", "t", "-p", "3"),
        HELP["topics"] | HELP["configs"] | ADMIN | NEAREST | {"kctl.cli.topic_configs", "kctl.cli.topic_rows"},
    ),
    (
        ("topics", "offsets", "t"),
        HELP["topics"] | ADMIN | NEAREST | {"kctl.cli.topic_offsets", "kctl.cli.named_partitions"},
    ),
    (("acls", "list"), HELP["acls"] | ADMIN),
    (("users", "list"), HELP["users"] | ADMIN),
    (("quotas", "list"), HELP["quotas"] | ADMIN),
    (("cluster", "describe"), HELP["cluster"] | ADMIN),
    (("brokers", "disks"), HELP["brokers"] | ADMIN),
    (("why", "group", "g"), HELP["why"] | ADMIN | NEAREST | MIRRORED | {"kctl.client.probe", "kctl.why"}),
    (("partitions", "list"), HELP["partitions"] | ADMIN),
    (
        ("partitions", "plan", "--away-from", "1"),
        HELP["partitions"]
        | ADMIN
        | NEAREST
        | {"kctl.cli.document_file", "kctl.cli.named_partitions", "kctl.cli.overtime"},
    ),
    (("partitions", "move", "/nonexistent"), HELP["partitions"] | ADMIN | MOVES),
    (("wait", "brokers", "1"), HELP["wait"] | (ADMIN - {"kctl.cli.admin_client"}) | {"kctl.cli.wait_loop"}),
    (("groups", "list"), HELP["groups"] | ADMIN),
    (("api", "ListGroups"), HELP["api"] | ADMIN),
    (("groups", "lag", "g"), HELP["groups"] | ADMIN | NEAREST | MIRRORED | {"kctl.cli.named_partitions"}),
    (("bench", "produce"), BENCH),
    (("bench", "consume"), BENCH),
    (("bench", "consume", "--topic", "t"), BENCH | CONSUMER),
    (("bench", "end-to-end"), BENCH),
    (("bench", "end-to-end", "--rate", "fast"), HELP["bench"]),
    (("profile", "list"), HELP["profile"]),
    (("profile", "show"), HELP["profile"]),
    (("profile", "show", "nobody"), HELP["profile"]),
    (("profile", "check"), HELP["profile"]),
    (("pipeline", "export", "t", "--to", "/nonexistent/x"), EXPORT | {"kctl.cli.view"}),
    (("pipeline", "export", "t", "--to", "/nonexistent/x", "--dry-run"), EXPORT),
    (("pipeline", "export", "t", "--to", "x", "--master", "yarn"), HELP["pipeline"]),
    (
        ("pipeline", "import", "/nonexistent"),
        JOBS | FOLDERS | {"kctl.pipeline.progress_marks", "kctl.pipeline.resume_point", "kctl.cli.view"},
    ),
    (("pipeline", "mirror", "t", "--to-topic", "u"), MIRROR | {"kctl.cli.view"}),
    (("pipeline", "mirror", "t"), HELP["pipeline"]),
    (("pipeline", "verify", "t", "--to-topic", "u"), VERIFY | {"kctl.cli.view"}),
    (("probe", "report", "/nonexistent"), REPORT),
]
"""What a run imports beyond ROOT and OPTIONS, where nobody answers, or where it was a mistake."""


@pytest.mark.parametrize("name", COMMANDS)
def test_help_of_a_command_imports_that_command_and_no_client(name: str) -> None:
    modules = _modules(name, "--help")
    assert _packages(modules) - ROOT - OPTIONS == HELP[name] | {"kctl.cli.examples", "kctl.cli.help_sections"}
    assert not modules & (NEVER | NOT_WITHOUT_TLS | NOT_OFF_A_TERMINAL)
    assert "socket" not in modules


@pytest.mark.parametrize(
    ("arguments", "packages"), RUNS, ids=lambda each: " ".join(each if isinstance(each, tuple) else sorted(each))
)
def test_a_run_imports_what_it_uses_and_nothing_else(
    arguments: tuple[str, ...], packages: set[str], refused: str
) -> None:
    modules = _modules(
        *arguments, "-b", refused, "--api-timeout", "200ms", "--connect-timeout", "100ms", "--close-timeout", "1s"
    )
    assert _packages(modules) - ROOT - OPTIONS == packages
    assert not modules & (NEVER | NOT_WITHOUT_TLS | NOT_OFF_A_TERMINAL)


def test_report_imports_neither_spark_nor_the_client(tmp_path: Path) -> None:
    write(tmp_path / "a.jsonl", probe_lines([NodeTruth("a:9092")], Random(1), 3))
    page = tmp_path / "page.html"
    modules = _modules("probe", "report", str(tmp_path / "a.jsonl"), "--html", str(page))
    assert page.exists()
    assert _packages(modules) - ROOT - OPTIONS == REPORT
    assert not modules & (NEVER | NOT_WITHOUT_TLS | NOT_OFF_A_TERMINAL)


@pytest.mark.parametrize("arguments", [("up", "--topic", "%%"), ("tell", "--control", "/nonexistent", "status")])
def test_a_sandbox_does_without_the_clients(arguments: tuple[str, ...]) -> None:
    modules = _modules("sandbox", *arguments)
    needed = {
        "kctl.cli.sandbox_control",
        "kctl.client.acls",
        "kctl.client.cluster",
        "kctl.client.protocol",
        "kctl.client.quotas",
        "kctl.client.records",
        "kctl.client.runtime",
        "kctl.client.topic_names",
        "google_crc32c",
    }
    others = {name for name in _packages(modules) - ROOT - OPTIONS if not name.startswith("kctl.sandbox")}
    assert others - {"kctl.cli.sandbox_security"} == HELP["sandbox"] | needed
    assert not modules & (NEVER | NOT_WITHOUT_TLS | NOT_OFF_A_TERMINAL)


def test_completion_of_names_does_without_the_command_line(refused: str) -> None:
    code = (
        "import sys\n"
        "from kctl.cli.completion import lookup\n"
        "try:\n"
        f"    lookup.names_of(['topics', 'kctl consume -b {refused} '], 200)\n"
        "except Exception:\n"
        "    print(*sys.modules)\n"
    )
    ended = subprocess.run([PYTHON, "-c", code], capture_output=True, env=environment(), timeout=BOUND_S, check=True)
    modules = set(ended.stdout.decode().split())
    assert "kctl.client.admin" in modules
    assert not modules & (NEVER | NOT_WITHOUT_TLS | {"typer", "click", "kctl.cli.app"})


def test_tls_is_imported_when_it_is_spoken(refused: str) -> None:
    assert "ssl" in _modules("probe", "-b", refused, "--security-protocol", "SSL")


def test_decoding_imports_tls_for_a_registry_alone(refused: str, tmp_path: Path) -> None:
    schema = tmp_path / "a.avsc"
    schema.write_text('"int"')
    command = ("consume", "t", "-b", refused, "--api-timeout", "1ms", "--decode", "avro", "--avsc", str(schema))
    without, with_one = _modules(*command), _modules(*command, "-X", f"schema.registry.url=http://{refused}")
    assert "fastavro" in without & with_one
    assert not without & (NOT_WITHOUT_TLS | {"http.client"})
    assert "http.client" in with_one
