"""PySpark's archive is not looked through again before each task, in a Python that has it from there as workers do."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pyspark

LIBRARIES = Path(pyspark.__file__).parent / "python" / "lib"
WORKER = """
import importlib, sys
import pyspark.sql.types, changing
from kctl.pipeline.spark_archive import forget_spark_archive
from zipimport import zipimporter

def looked_through():
    importlib.invalidate_caches()
    finders = sys.path_importer_cache.values()
    return sorted({each.archive.rsplit("/", 1)[-1] for each in finders if isinstance(each, zipimporter)})

print(len(looked_through()), forget_spark_archive() > 3, looked_through())
import pyspark.sql.avro.functions
print("pyspark.zip" in pyspark.sql.avro.functions.__file__, looked_through())
print(forget_spark_archive() > 0, forget_spark_archive(), looked_through())
"""
"""Finds out as a task does, before which Spark invalidates the caches."""


def test_only_what_can_change_is_looked_through(tmp_path: Path) -> None:
    """Imports out of the archive go on to work; an archive that a user added keeps its finder."""
    added = tmp_path / "added.zip"
    with zipfile.ZipFile(added, "w") as archive:
        archive.writestr("changing.py", "")
    here = Path(__file__).parents[3]
    path = os.pathsep.join(map(str, [*sorted(LIBRARIES.glob("*.zip")), added, here]))
    done = subprocess.run(
        [sys.executable, "-c", WORKER],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.stdout.splitlines() == [
        "3 True ['added.zip']",
        "True ['added.zip', 'pyspark.zip']",
        "True 0 ['added.zip']",
    ], done.stderr
