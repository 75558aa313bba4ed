"""Spark session of a job: settings, shipped code, log and shutdown.

The JVM only schedules Python tasks and carries small results, so it uses its simple compiler, which halves the startup
time. Secrets never get into a session, because command lines and event logs show its settings.
"""

import importlib.util
import os
import re
import shutil
import sys
import threading
from abc import ABC, abstractmethod
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NamedTuple, TypeVar

from kctl.client.errors import ConfigError
from kctl.pipeline.job_errors import SparkMissingError, SparkSetUpError
from kctl.pipeline.shipping import FOLDER, write_archive
from kctl.pipeline.spark_noise import send_accumulator_errors
from kctl.pipeline.spark_process import SAFE_PATH, SparkProcess
from kctl.pipeline.task_rounds import RddRound, Round, Split

if TYPE_CHECKING:
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

Result = TypeVar("Result")

LOCAL_MASTER = "local[*]"
CLUSTER_TASKS = 8
"""Assumed number of parallel tasks if a cluster's number is unknown."""
LOCAL_ATTEMPTS = 4
"""Attempts of a local task, equal to Spark's default on a cluster (spark.task.maxFailures)."""
INSTALL = "install the extra spark with: pip install '.[spark]' (in a checkout of kctl) or pip install 'WHEEL[spark]'"
CONNECT_PACKAGES = ("pandas", "grpc", "grpc_status", "zstandard")
"""Modules that PySpark needs for Spark Connect."""
INSTALL_CONNECT = "pip install 'pyspark[connect]'"
REDACTION = "(?i)secret|password|token|access[.]?key|jaas|sasl|keystore|truststore"
"""Spark's default expression, extended by Kafka's names for secrets."""
LONGEST_SOCKET_FOLDER = 60
"""Limit of 103 bytes for a socket's path, minus 42 bytes and a slash for Spark's names."""
JAVA_WANTED = "pipeline jobs need Java 17 or newer"
INSTALL_JAVA = "on Debian, run: apt-get install openjdk-17-jre-headless"
STOP_S = 10.0
SOCKET_TIMEOUT = "60s"
"""Time that Spark waits for Python to connect, at the start of a worker and for each result.

Spark's default of 15 s is too short if many processes share few cores, and then the job fails.
"""
_SAY_NOTHING = (
    "Error: Could not create the Java Virtual Machine.",
    "Error: A fatal exception has occurred. Program will exit.",
    "Error: A JNI error has occurred, please check your installation and try again",
)
"""Messages of a JVM without a reason."""
_REFUSED = {"spark.speculation": "speculative copies of a task would write its records twice"}


class SessionOptions(NamedTuple):
    """Options of a Spark session.

    Attributes:
        master: `local[*]`, `local[N]`, `spark://host:port`, `yarn`, or `k8s://URL`.
        properties: Spark properties, which override kctl's defaults.
        log_path: path of Spark's log. None uses a temporary file, which is kept only after an error.
        worker_python: interpreter of the workers. None uses $PYSPARK_PYTHON, or the current interpreter.
        remote: URL of a Spark Connect server, or a reference to it. Replaces `master` and `worker_python`.
    """

    master: str = LOCAL_MASTER
    properties: Mapping[str, str] = {}
    log_path: Path | None = None
    worker_python: str | None = None
    remote: str | None = None


class Session(ABC):
    """A Spark session that jobs use, from `open_session` or, for an existing Spark session, from `session_over`.

    Attributes:
        log_path: path of Spark's log. None if kctl did not start the session.
        is_local: whether tasks execute on this machine, and inherit its environment variables.
    """

    log_path: Path | None
    is_local: bool

    @property
    @abstractmethod
    def parallelism(self) -> int:
        """Number of tasks that the session executes in parallel."""

    @abstractmethod
    def spark(self) -> "SparkSession":
        """Return the SQL session, which takes longer to start than tasks alone."""

    @abstractmethod
    def round(self, name: str, split: Split[Any, Result]) -> Round[Result]:
        """Return a new round of tasks, with a name for Spark's log."""


class ClassicSession(Session):
    """A session of a driver in this process."""

    def __init__(self, context: "SparkContext", log_path: Path | None, *, is_local: bool) -> None:
        self.context = context
        self.log_path = log_path
        self.is_local = is_local

    @property
    def parallelism(self) -> int:
        return max(1, int(self.context.defaultParallelism))

    def spark(self) -> "SparkSession":
        from pyspark.sql import SparkSession

        return SparkSession.builder.getOrCreate()

    def round(self, name: str, split: Split[Any, Result]) -> Round[Result]:
        return RddRound(self.context, name, split)


def is_connect(spark: "SparkSession") -> bool:
    """Return whether a session is one of Spark Connect."""
    return not hasattr(spark, "_jsparkSession")


def tasks_at_once(session: Session | None, options: SessionOptions | None) -> int:
    """Return the number of parallel tasks of a session. Without a session, return the number expected with these
    options.
    """
    if session is not None:
        return session.parallelism
    options = options or SessionOptions()
    local = re.fullmatch(r"local(?:\[(\d{1,9}|\*)(?:,\d+)?\])?", options.master)
    if local is None or options.remote is not None:
        return CLUSTER_TASKS
    return (os.cpu_count() or 1) if local[1] == "*" else int(local[1] or 1)


def check_packages(*modules: str, install: str = INSTALL) -> None:
    """Raise SparkMissingError, with an install command, if a module is missing. Without arguments, check pyspark and
    pyarrow.
    """
    for module in modules or ("pyspark", "pyarrow"):
        if importlib.util.find_spec(module) is None:
            raise SparkMissingError(f"pipeline jobs need {module}, which is not installed", install)


def check_installed(options: SessionOptions | None = None) -> None:
    """Raise SparkMissingError if Python packages are missing, or Java, which a Spark Connect client does not need."""
    check_packages()
    if options is not None and options.remote is not None:
        check_packages(*CONNECT_PACKAGES, install=INSTALL_CONNECT)
        return
    home = os.environ.get("JAVA_HOME")
    if shutil.which("java") is None and not (home and Path(home, "bin", "java").exists()):
        where = f"JAVA_HOME={home} has no bin/java" if home else "JAVA_HOME is not set"
        raise SparkMissingError(f"{JAVA_WANTED}: no java command in PATH, and {where}", INSTALL_JAVA)


def spark_properties(options: SessionOptions, name: str, *, version: tuple[int, ...]) -> dict[str, str]:
    """Return the properties of a session.

    Args:
        version: version of PySpark. Properties that it does not support are omitted.
    """
    ours = {
        "spark.app.name": name,
        "spark.master": with_attempts(options.master),
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.redaction.regex": REDACTION,
        "spark.sql.execution.pyspark.udf.hideTraceback.enabled": "true",
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:-UsePerfData",
    }
    ours |= {f"spark.executorEnv.{name}": value for name, value in SAFE_PATH.items()}
    ours["spark.python.authenticate.socketTimeout"] = SOCKET_TIMEOUT
    if version >= (4, 1) and not options.master.startswith(("yarn", "k8s")):  # paths in containers are too long
        ours["spark.python.unix.domain.socket.enabled"] = "true"
    if options.master.startswith("local"):
        ours |= {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
    merged = ours | dict(options.properties)
    refuse_speculation(merged)
    return merged


def with_attempts(master: str) -> str:
    """Return a local master with LOCAL_ATTEMPTS. By default, Spark does not repeat a local task whose worker died."""
    local = re.fullmatch(r"local(?:\[(\d+|\*)\])?", master)
    return master if local is None else f"local[{local[1] or 1},{LOCAL_ATTEMPTS}]"


def refuse_speculation(properties: Mapping[str, str]) -> None:
    """Raise ConfigError if Spark may start a second copy of a task."""
    for key, why in _REFUSED.items():
        if properties.get(key, "false").strip().lower() != "false":
            raise ConfigError(f"invalid {key} '{properties[key]}': use false, because {why}", key=key)


class Gateway:
    """JVM of a session, which another thread can stop at any time."""

    def __init__(self) -> None:
        self._process: SparkProcess | None = None
        self._context: SparkContext | None = None
        self._is_ending = False
        self._starting = threading.Lock()

    def launch(self, options: SessionOptions, name: str, folder: Path, log: IO[bytes], log_path: Path) -> Session:
        """Start the JVM and return the session. Blocks for seconds, so call it in a thread that may be abandoned.

        Raises: ConfigError, SparkSetUpError, SparkMissingError.
        """
        import pyspark
        from pyspark import SparkConf, SparkContext

        if SparkContext._active_spark_context is not None:
            raise SparkSetUpError(
                "this process already has a Spark session", "pass the session to the job: session=..."
            )
        version = _version(pyspark.__version__)
        properties = _places(options, folder, version) | spark_properties(options, name, version=version)
        if not options.master.startswith("local"):
            properties = _shipping(properties, folder)
        conf = SparkConf(loadDefaults=False)
        conf.setAll(list(properties.items()))
        python = os.environ.get("PYSPARK_PYTHON")
        os.environ["PYSPARK_PYTHON"] = options.worker_python or python or sys.executable
        try:
            with self._starting:
                if self._is_ending:
                    raise SparkSetUpError("cannot start Spark: the session has ended")
                self._process = SparkProcess(properties, folder, log)
            self._context = SparkContext(conf=conf, gateway=self._process.gateway())
        except Exception as e:
            why = _why(e, log_path)
            if "UnsupportedClassVersionError" in why:
                raise SparkMissingError(f"{JAVA_WANTED}: the installed Java version is too old", INSTALL_JAVA) from e
            raise SparkSetUpError(f"Spark did not start: {why}", f"read the log of Spark: {log_path}") from e
        finally:
            del os.environ["PYSPARK_PYTHON"]
            if python is not None:
                os.environ["PYSPARK_PYTHON"] = python
        send_accumulator_errors(self._context, log)
        self._context.setLogLevel("WARN")
        return ClassicSession(self._context, log_path, is_local=options.master.startswith("local"))

    def close(self) -> None:
        """Stop the session within `STOP_S`, and then the JVM. The workers end with the JVM."""
        with self._starting:  # wait for a starting process, and prevent others
            self._is_ending = True
        context = self._context
        if context is not None:
            stopping = threading.Thread(target=_stop, args=(context,), daemon=True)
            stopping.start()
            stopping.join(STOP_S)
        if self._process is not None:
            self._process.end()
            _forget_gateway()


def last_log_line(path: Path | None) -> str:
    if path is None or not path.exists():
        return ""
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - 64 * 1024))
        lines = [line.strip() for line in file.read().decode(errors="replace").splitlines()]
    telling = [line for line in lines if line and not line.startswith(("at ", "... ")) and line not in _SAY_NOTHING]
    faults = [line for line in telling if any(word in line for word in ("Exception", "Error", " ERROR ", "Invalid"))]
    return (faults or [""])[-1][:300]


def _stop(context: "SparkContext") -> None:
    with suppress(Exception):  # the JVM may have exited; it is killed next
        context.stop()


def _forget_gateway() -> None:
    from pyspark import SparkContext

    with SparkContext._lock:
        gateway = SparkContext._gateway
        SparkContext._gateway = SparkContext._jvm = SparkContext._active_spark_context = None
    if gateway is not None:
        gateway.shutdown()


def _version(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(".")[:2] if part.isdigit())


def _places(options: SessionOptions, folder: Path, version: tuple[int, ...]) -> dict[str, str]:
    places = {"spark.local.dir": str(folder)}
    is_short = len(os.fsencode(folder)) <= LONGEST_SOCKET_FOLDER
    if version >= (4, 1) and is_short and options.master.startswith("local"):
        places["spark.python.unix.domain.socket.dir"] = str(folder)
    return places


def _shipping(properties: dict[str, str], folder: Path) -> dict[str, str]:
    archive = folder / f"{FOLDER}.tgz"
    write_archive(archive)
    others = properties.get("spark.archives")
    return properties | {
        "spark.archives": ",".join(filter(None, [others, f"{archive}#{FOLDER}"])),
        "spark.executorEnv.PYTHONPATH": os.pathsep.join(
            filter(None, [f"./{FOLDER}", properties.get("spark.executorEnv.PYTHONPATH")])
        ),
    }


def _why(error: Exception, log_path: Path) -> str:
    first = str(error).strip().splitlines()
    return last_log_line(log_path) or (first[0] if first else type(error).__name__)
