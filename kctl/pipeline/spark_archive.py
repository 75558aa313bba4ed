"""The archives that Spark has its Python processes look into: unless they are kept, every task reads them again.

Before each task Spark has Python invalidate what its finders know. For every package that came out of an archive,
Python up to 3.12 then reads the archive's whole directory again: a dozen of `pyspark.zip`, 5 ms each, and the jar of
Spark's core, 5,400 entries and 20 ms, which is on the path for nothing. To drop the finders does not last: an import of
what is nowhere to be found makes them again. Knows nothing of Kafka.
"""

import os
import sys
from typing import Final
from zipimport import zipimporter

_CORE: Final = "spark-core_"
"""How the name of the jar of Spark's core begins."""


def keep_spark_archive() -> int:
    """Have the finders over Spark's own archives keep what they know; return how many newly do.

    The archives never change while a worker lives. To be called by each task, and by whatever else Spark asks a Python
    process for: the next call begins without them. Other archives may be new ones, and are read again.
    """
    loaders = [getattr(sys.modules.get(name), "__loader__", None) for name in ("pyspark", "py4j")]
    archives = [loader.archive for loader in loaders if isinstance(loader, zipimporter)]
    finders = [finder for finder in sys.path_importer_cache.values() if isinstance(finder, zipimporter)]
    found = [each for each in finders if each.archive in archives or os.path.basename(each.archive).startswith(_CORE)]
    new = [finder for finder in found if "invalidate_caches" not in vars(finder)]
    for finder in new:
        vars(finder)["invalidate_caches"] = _keep
    return len(new)


def _keep() -> None:
    """Do nothing, in the place of reading an archive again."""
