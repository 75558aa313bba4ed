"""The archive that a worker of Spark imports PySpark from: it costs every task a tenth of a second, unless forgotten.

Before each task Spark has Python invalidate what its finders know. For every package that came out of an archive,
Python up to 3.12 then reads the archive's whole directory again; PySpark comes out of `pyspark.zip`, a dozen and more
packages of it. Without those finders there is nothing to read, and imports make them again out of what is kept.
Knows nothing of Kafka. Shown by tests/unit/pipeline/test_spark_archive.py.
"""

import sys
from zipimport import zipimporter


def forget_spark_archive() -> int:
    """Drop the finders over PySpark's own archives, which never change while a worker lives; return how many.

    To be called by each task: the next one begins without them. Other archives keep theirs, for they may be new ones.
    """
    loaders = [getattr(sys.modules.get(name), "__loader__", None) for name in ("pyspark", "py4j")]
    archives = [loader.archive for loader in loaders if isinstance(loader, zipimporter)]
    finders = list(sys.path_importer_cache.items())
    found = [path for path, finder in finders if isinstance(finder, zipimporter) and finder.archive in archives]
    for path in found:
        sys.path_importer_cache.pop(path, None)
    return len(found)
