"""Programs that kctl starts in a working directory of somebody else: no module of the directory runs."""

import ast
import subprocess
import sys
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from kctl.cli.decode.jq_process import JqProcess
from kctl.pipeline import spark_process
from kctl.pipeline.filter_process import FilterProcess
from kctl.pipeline.job_errors import RecordDataError
from kctl.pipeline.record_filter import RecordFilter
from kctl.pipeline.session import SessionOptions, spark_properties
from kctl.pipeline.spark_process import SparkProcess
from tests.support.bounds import bound
from tests.support.faults.hostile_folder import HostileFolder
from tests.unit.pipeline.test_record_filter import BATCH
from tests.unit.source_trees import ROOT, nodes

STARTERS = {
    "kctl/cli/decode/jq_process.py": "tested below",
    "kctl/cli/profile/editor.py": "the user's editor",
    "kctl/cli/profiles/references.py": "a command of a trusted profile, in the directory of the profile",
    "kctl/pipeline/filter_process.py": "tested below",
    "kctl/pipeline/spark_process.py": "tested below",
}
"""The modules that start programs; a new one needs a test of its own."""
_STARTING = {"Popen", "run", "call", "check_call", "check_output", "getoutput", "system", "popen", "posix_spawn"}
_EXEC = ("exec", "spawn")
_OWNERS = {"subprocess", "os", "pty", "multiprocessing"}
_MODULES = {"subprocess", "pty", "multiprocessing", "concurrent.futures.process"}
_METHODS = {"create_subprocess_exec", "create_subprocess_shell", "subprocess_exec", "subprocess_shell"}


def starts_programs(module: Collection[ast.AST]) -> bool:
    """Return whether a module, given by its nodes, imports or calls what starts a program."""
    called = [node.func for node in module if isinstance(node, ast.Call)]
    named = [each for each in called if isinstance(each, ast.Attribute) and isinstance(each.value, ast.Name)]
    calls = [each.attr for each in named if isinstance(each.value, ast.Name) and each.value.id in _OWNERS]
    imported = [str(node.module) for node in module if isinstance(node, ast.ImportFrom)]
    imported += [each.name for node in module if isinstance(node, ast.Import) for each in node.names]
    of_os = [
        each.name for node in module if isinstance(node, ast.ImportFrom) and node.module == "os" for each in node.names
    ]
    methods = {each.attr for each in called if isinstance(each, ast.Attribute)}
    return (
        not _MODULES.isdisjoint(imported)
        or not _METHODS.isdisjoint(methods)
        or any(each in _STARTING or each.startswith(_EXEC) for each in (*calls, *of_os))
    )


@pytest.mark.parametrize(
    "source",
    [
        "import subprocess\nsubprocess.run(['x'])",
        "import subprocess as programs\nprograms.Popen(['x'])",
        "from subprocess import Popen as start\nstart(['x'])",
        "import os\nos.execvp('x', ['x'])",
        "from os import posix_spawn\nposix_spawn('x', ['x'], {})",
        "import os\nos.system('x')",
        "import pty\npty.spawn('x')",
        "import asyncio\nasync def run():\n    await asyncio.create_subprocess_exec('x')",
        "import concurrent.futures.process",
        "from multiprocessing import Process",
    ],
)
def test_module_that_starts_programs_is_found(source: str) -> None:
    assert starts_programs(tuple(ast.walk(ast.parse(source))))


def test_module_that_starts_no_program_is_not_found() -> None:
    source = "import os\nfrom os import environ\nos.open('x', 0)\nself.run()\nfrom multiprocessing.util import Finalize"
    assert not starts_programs(tuple(ast.walk(ast.parse(source))))


def test_every_module_that_starts_programs_is_known() -> None:
    found = {str(file.relative_to(ROOT)) for file, module in nodes().items() if starts_programs(module)}
    assert found == set(STARTERS)


@pytest.fixture
def hostile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> HostileFolder:
    folder = HostileFolder(tmp_path)
    monkeypatch.chdir(folder.path)
    return folder


def test_hostile_folder_runs_without_a_safe_path(hostile: HostileFolder) -> None:
    subprocess.run([sys.executable, "-m", "json.tool", "--help"], stdout=subprocess.DEVNULL, check=False)
    assert hostile.marks()[0].startswith("json of ")


@pytest.mark.slow
def test_filter_process_imports_nothing_of_the_folder(hostile: HostileFolder) -> None:
    with FilterProcess(RecordFilter(jq=".offset == 13"), 60_000) as chosen:
        assert chosen.wanted(BATCH).num_rows == 1
    assert hostile.marks() == []


def test_jq_process_imports_nothing_of_the_folder(hostile: HostileFolder) -> None:
    pytest.importorskip("jq")
    assert list(JqProcess(".", is_ascii=False).run([b"1"])) == [b"1\n"]
    assert hostile.marks() == []


@pytest.mark.parametrize("starter", ["filter", "jq"])
def test_program_without_the_safe_path_is_found(
    starter: str, hostile: HostileFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The planted bug: a child that starts without -P."""
    start = subprocess.Popen

    def start_unsafely(words: list[str], **kwargs: Any) -> "subprocess.Popen[bytes]":
        assert "-P" in words
        return start([word for word in words if word != "-P"], **kwargs)

    monkeypatch.setattr(subprocess, "Popen", start_unsafely)
    if starter == "jq":
        pytest.importorskip("jq")
        list(JqProcess(".", is_ascii=False).run([b"1"]))
    else:
        with FilterProcess(RecordFilter(jq=".offset == 13"), 60_000) as chosen, suppress(RecordDataError):
            chosen.wanted(BATCH)
    assert hostile.marks() != []


def test_python_below_a_jvm_without_the_safe_path_is_found(
    hostile: HostileFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The planted bug: a JVM whose children look for modules in the working directory."""
    monkeypatch.setattr(spark_process, "SAFE_PATH", {})
    run_below_the_jvm(tmp_path, monkeypatch)
    assert hostile.marks() != []


def test_python_below_the_jvm_imports_nothing_of_the_folder(
    hostile: HostileFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_below_the_jvm(tmp_path, monkeypatch)
    assert "usage: " in (tmp_path / "log").read_text()
    assert hostile.marks() == []


def run_below_the_jvm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run a program of Spark to its end: a script that starts Python as Spark starts its workers."""
    program = tmp_path / "bin" / "spark-submit"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\nexec {sys.executable} -m json.tool --help\n")
    program.chmod(0o755)
    monkeypatch.setattr("pyspark.find_spark_home._find_spark_home", lambda: str(tmp_path))
    with (tmp_path / "log").open("wb") as log:
        process = SparkProcess({}, tmp_path, log)
        process._process.wait(bound(60))
        process.end()


@pytest.mark.parametrize("master", ["local[2]", "spark://host:7077"])
def test_executors_of_every_kind_of_cluster_have_a_safe_path(master: str) -> None:
    properties = spark_properties(SessionOptions(master), "job", version=(4, 1))
    assert {f"spark.executorEnv.{name}": value for name, value in spark_process.SAFE_PATH.items()}.items() <= (
        properties.items()
    )
