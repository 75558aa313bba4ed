"""An archive of the classes that Spark loads, which each JVM of these tests maps instead of reading 287 jars.

A JVM of Spark lives for seconds here, and a third of its work is to load classes. The archive is made once for each
environment and changes nothing that a JVM does. Knows nothing of jobs.
"""

import hashlib
import os
import subprocess
import sys
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from tests.support.bounds import bound
from tests.support.kafka.toolchain import SILENT_ARCHIVE, cached, find_tool

BUILD: Final = Path(__file__).parents[2] / "build"
SHORT_LIVED: Final = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -XX:-UsePerfData"
"""By which a JVM that lives for seconds takes less work to start."""
MAKE_TIMEOUT_S: Final = bound(240)
_JOB: Final = """
import sys
from pyspark import SparkConf, SparkContext

properties = {
    "spark.master": "local[1]",
    "spark.app.name": "classes",
    "spark.ui.enabled": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.extraJavaOptions": sys.argv[1],
}
context = SparkContext(conf=SparkConf().setAll(list(properties.items())))
context.parallelize(range(4), 2).map(abs).collect()
jvm = SparkContext._gateway.proc
context.stop()
SparkContext._gateway.shutdown()
jvm.stdin.close()
jvm.wait()
"""


@cache
def spark_java() -> str:
    """Return the Java options of a JVM of Spark, for JDK_JAVA_OPTIONS; with an archive, made the first time.

    On a machine that is too busy to make it within the timeout they have none: an archive is a help, and no more.

    Raises: ToolMissing: there is no Java.
    """
    java = Path(find_tool("java", "openjdk-17-jdk-headless")).resolve()
    jars = spark_home() / "jars"
    of = "\n".join(map(str, (java, java.stat().st_mtime_ns, jars, jars.stat().st_mtime_ns)))
    name = f"spark-classes-{hashlib.sha256(of.encode()).hexdigest()[:16]}"
    try:
        archive = cached(name, _make, BUILD) / "classes.jsa"
    except subprocess.TimeoutExpired:
        return SHORT_LIVED
    return f"{SHORT_LIVED} -XX:SharedArchiveFile={archive} {SILENT_ARCHIVE}"


def spark_home() -> Path:
    """Return the folder of PySpark, which is a whole Spark."""
    spec = find_spec("pyspark")
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent


def _make(folder: Path) -> None:
    """Have the JVM of a small job archive at its end what it has loaded."""
    options = f"{SHORT_LIVED} -XX:ArchiveClassesAtExit={folder / 'classes.jsa'} -Xlog:disable"
    environment = {name: value for name, value in os.environ.items() if name != "JDK_JAVA_OPTIONS"}
    command = [sys.executable, "-W", "ignore", "-c", _JOB, options]
    subprocess.run(command, env=environment, capture_output=True, check=True, timeout=MAKE_TIMEOUT_S)
