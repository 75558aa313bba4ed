"""What a new Python worker imports for a read: Spark starts one for every read that ends early, as with `limit`."""

import subprocess
import sys

PROGRAM = """
import sys
import kctl.pipeline.client_pool, kctl.pipeline.range_reader, kctl.pipeline.source.batch_reader
from kctl.pipeline.record_columns import RecordColumns
RecordColumns("t", 0, ("offset", "value"))
print(*sys.modules)
"""


def test_worker_that_reads_imports_neither_the_producer_nor_all_of_pyarrow() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, check=True, text=True)
    modules = set(done.stdout.split())
    assert {"pyarrow", "kctl.client.consumer.consumer"} <= modules
    assert not modules & {"pyarrow.compute", "pandas", "kctl.client.producer.producer", "kctl.cli"}
