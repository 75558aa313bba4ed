"""PySpark's archive is not read again before each task, in a Python that has it from there as workers do."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pyspark
import pytest

from tests.support.bounds import bound

LIBRARIES = Path(pyspark.__file__).parent / "python" / "lib"
PRELUDE = """
import importlib, importlib.util, sys, zipimport
import pyspark.sql.types, changing
from kctl.pipeline.spark_archive import keep_spark_archive

read_directory, archives = zipimport._read_directory, []

def read_and_tell(archive):
    archives.append(archive.rsplit("/", 1)[-1])
    return read_directory(archive)

zipimport._read_directory = read_and_tell

def read_again():
    archives.clear()
    importlib.invalidate_caches()
    importlib.util.find_spec("absent")  # from Python 3.12 on, archives are read when a module is searched
    return sorted(set(archives))
"""
WORKER = """
print(len(read_again()), keep_spark_archive() > 3, read_again())
try:
    import nowhere
except ImportError:
    print(read_again())
import pyspark.sql.avro.functions
print("pyspark.zip" in pyspark.sql.avro.functions.__file__, read_again())
print(keep_spark_archive() > 0, keep_spark_archive(), read_again())
"""
"""Finds out as a task does, before which Spark invalidates the caches."""
END_OF_WRITE = """
from kctl.pipeline.source.options import write_options
from kctl.pipeline.source.writers import KctlWriter

writer = KctlWriter(write_options({"kafka.bootstrap.servers": "b:9092", "topic": "t"}))
print(len(read_again()))
getattr(writer, sys.argv[1])([None])
print(read_again())
"""
"""Spark has a Python process of its own for the end of a write, where no task runs."""


def worker_says(tmp_path: Path, code: str, *args: str) -> list[str]:
    """Return the lines of a Python that has PySpark from its archive, then the jar of its core, then one of a user."""
    added = tmp_path / "added.zip"
    with zipfile.ZipFile(added, "w") as archive:
        archive.writestr("changing.py", "")
    core = next((Path(pyspark.__file__).parent / "jars").glob("spark-core_*.jar"))
    here = Path(__file__).parents[3]
    done = subprocess.run(
        [sys.executable, "-c", PRELUDE + code, *args],
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join(map(str, [*sorted(LIBRARIES.glob("*.zip")), core, added, here])),
        },
        capture_output=True,
        text=True,
        timeout=bound(60),
    )
    assert not done.returncode, done.stderr
    return done.stdout.splitlines()


@pytest.mark.slow
def test_only_what_can_change_is_read_again(tmp_path: Path) -> None:
    """Imports out of the archive go on to work; an archive that a user added keeps its finder."""
    assert worker_says(tmp_path, WORKER) == [
        "4 True ['added.zip']",
        "['added.zip']",
        "True ['added.zip', 'pyspark.zip']",
        "True 0 ['added.zip']",
    ]


@pytest.mark.slow
@pytest.mark.parametrize("end", ["commit", "abort"])
def test_the_end_of_a_write_keeps_archives_too(tmp_path: Path, end: str) -> None:
    """It took longer than a task of few rows: its process never had a task that kept them."""
    assert worker_says(tmp_path, END_OF_WRITE, end) == ["4", "['added.zip']"]
