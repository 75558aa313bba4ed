"""Cache of the archives from which Spark's Python processes import.

Spark invalidates Python's import caches before each task. Python up to 3.12 then reads the archive's directory again
for every package: 5 ms for each of a dozen readings of `pyspark.zip`, and 20 ms for Spark's core jar. Removing the
finders does not help, because the next import of a missing module adds them again. So the finders ignore the
invalidation.
"""

import os
import sys
from typing import Final
from zipimport import zipimporter

_CORE: Final = "spark-core_"
"""Prefix of the file name of Spark's core jar."""


def keep_spark_archive() -> int:
    """Make the finders of Spark's archives ignore invalidation, and return the number of changed finders.

    Call it in each task and each planning process. Finders of other archives are unchanged, because those may change.
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
    """Replace `invalidate_caches` without effect."""
