"""What a new Python worker imports for a read: Spark starts one for every read that ends early, as with `limit`.

pyarrow imports pandas if it is installed. The first program hides it, so that an import by kctl would fail.
"""

import os
import subprocess
import sys
from pathlib import Path

import pyspark
import pytest

PROGRAM = """
import sys

class Hidden:
    def find_spec(name, path=None, target=None):
        if name == "pandas":
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, Hidden)
import kctl.pipeline.client_pool, kctl.pipeline.range_reader, kctl.pipeline.source.batch_reader
from kctl.pipeline.record_columns import RecordColumns
RecordColumns("t", 0, ("offset", "value"))
print(*sys.modules)
"""


@pytest.mark.slow
def test_worker_that_reads_imports_neither_the_producer_nor_all_of_pyarrow() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, check=True, text=True)
    modules = set(done.stdout.split())
    assert {"pyarrow", "kctl.client.consumer.consumer"} <= modules
    assert not modules & {"pyarrow.compute", "pandas", "kctl.client.producer.producer", "kctl.cli"}


DAEMON = """
import os, sys
from zipimport import zipimporter
from kctl.pipeline import worker_daemon

def finders():
    return [each for each in sys.path_importer_cache.values() if isinstance(each, zipimporter)]

def finders_that_read_again():
    return sum("invalidate_caches" not in vars(each) for each in finders())

worker_daemon.load()
import pyspark.sql.avro.functions
print("pyspark.zip" in pyspark.__file__, len(finders()) > 0, flush=True)
if not os.fork():
    before = set(sys.modules)
    print(finders_that_read_again())
    from kctl.pipeline.record_columns import RecordColumns
    from kctl.pipeline.record_writer import write_batches
    from kctl.pipeline.source.batch_reader import read_partition
    from kctl.pipeline.source.writers import write_rows
    RecordColumns("t", 0, ("key", "offset", "value", "headers"))
    list(read_partition(None, (), None))
    print(*sorted(set(sys.modules) - before), flush=True)
    os._exit(0)
os.wait()
"""


@pytest.mark.slow
def test_worker_of_the_daemon_imports_nothing_and_reads_no_archive_again() -> None:
    here = Path(__file__).parents[3]
    libraries = sorted((Path(pyspark.__file__).parent / "python" / "lib").glob("*.zip"))
    path = os.pathsep.join(map(str, [*libraries, here]))
    environment = {**os.environ, "PYTHONPATH": path}
    done = subprocess.run([sys.executable, "-c", DAEMON], capture_output=True, text=True, env=environment)
    assert done.stdout.splitlines() == ["True True", "0", ""], done.stderr
