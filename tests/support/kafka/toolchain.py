"""Java, Maven and what they make: Kafka's jars and compiled programs, cached between runs.

Owns the cache folder (KCTL_CACHE or ~/.cache/kctl). Every entry is made in a temporary folder and renamed into place
under a file lock, so parallel runs share it and a killed one leaves nothing half done. Knows nothing of brokers.
"""

import fcntl
import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.support.bounds import bound
from tests.support.kafka.waiting import wait_until

NEWEST_KAFKA = "4.3.1"
SCALA = "2.13"
FETCH_TIMEOUT_S = bound(300)
COMPILE_TIMEOUT_S = bound(120)

# The memory settings of tests: small heap, no parallel collector, no optimising compiler for short lives.
JVM_OPTIONS = ("-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData")

CLASS_ARCHIVE = "classes.jsa"
SILENT_ARCHIVE = "-Xlog:cds*=off"
"""Without it a JVM that cannot use its archive says so on stdout; it does without in any case."""

_LOG_OPTIONS = (
    "-Dorg.slf4j.simpleLogger.showDateTime=true",
    "-Dorg.slf4j.simpleLogger.dateTimeFormat=HH:mm:ss.SSS",
    "-Dorg.slf4j.simpleLogger.log.org.apache.zookeeper=warn",
)

_POM = """<project>
  <modelVersion>4.0.0</modelVersion>
  <groupId>kctl.tests</groupId><artifactId>jars</artifactId><version>1</version>
  <dependencies>{dependencies}</dependencies>
</project>
"""
_DEPENDENCY = "<dependency><groupId>{}</groupId><artifactId>{}</artifactId><version>{}</version></dependency>"


class ToolMissing(Exception):
    """A program or package that the tests need is not on this machine; the message says how to get it."""


class FetchError(Exception):
    """Maven or the compiler failed; the message ends with its output."""


def find_tool(name: str, package: str) -> str:
    """Return the path of program `name`.

    Raises:
        ToolMissing: not on PATH; names the Debian `package` that has it.
    """
    path = shutil.which(name)
    if path is None:
        raise ToolMissing(f"{name} is not installed (Debian: apt-get install {package})")
    return path


def cache_dir() -> Path:
    """Return the folder that is kept between runs."""
    return Path(os.environ.get("KCTL_CACHE") or Path.home() / ".cache" / "kctl")


def kafka_jars(version: str) -> Path:
    """Return the folder with all jars of this Kafka version, fetched by Maven the first time.

    Raises:
        ToolMissing: the jars are not cached and there is no Maven or no Java.
        FetchError: Maven failed.
    """

    kafka = "org.apache.kafka"
    return maven_jars(
        f"kafka-{version}",
        f"{kafka}:kafka_{SCALA}:{version}",
        f"{kafka}:kafka-tools:{version}",
        "org.slf4j:slf4j-simple:1.7.36",
    )


def maven_jars(name: str, *artifacts: str) -> Path:
    """Return cache folder `name` with the jars of these artifacts (`group:artifact:version`) and all that they need.

    Raises: ToolMissing, FetchError: as kafka_jars.
    """

    def fetch(folder: Path) -> None:
        find_tool("java", "openjdk-17-jdk-headless")
        maven = find_tool("mvn", "maven")
        pom = folder / "pom.xml"
        pom.write_text(_POM.format(dependencies="".join(_DEPENDENCY.format(*each.split(":")) for each in artifacts)))
        command = [maven, "-q", "-B", "-f", str(pom), "dependency:copy-dependencies"]
        _run([*command, f"-DoutputDirectory={folder}"], FETCH_TIMEOUT_S, f"fetching {name}")

    return cached(name, fetch)


def kafka_class_path(version: str) -> str:
    """Return the class path of this Kafka version, in a fixed order.

    slf4j-simple comes first: of the logging backends that come along it is the one that needs no configuration.
    """
    jars = sorted(
        kafka_jars(version).glob("*.jar"), key=lambda jar: (not jar.name.startswith("slf4j-simple"), jar.name)
    )
    return os.pathsep.join(map(str, jars))


def compiled_class_path(source: Path, version: str = NEWEST_KAFKA, class_path: str | None = None) -> str:
    """Return the class path to run the one-file Java program `source`, compiled against this Kafka version.

    Args: class_path: what to compile against instead; `version` is then its name in the cache.

    Raises:
        ToolMissing: not compiled yet and there is no javac.
        FetchError: it does not compile.
    """
    class_path = class_path or kafka_class_path(version)
    digest = hashlib.sha256(source.read_bytes()).hexdigest()[:16]

    def build(folder: Path) -> None:
        javac = find_tool("javac", "openjdk-17-jdk-headless")
        command = [javac, "-Xlint:all,-processing,-classfile,-path", "-Werror", "-d", str(folder)]
        _run([*command, "-cp", class_path, str(source)], COMPILE_TIMEOUT_S, f"compiling {source.name}")

    # Last: an archive of classes is good for a class path that begins as its own.
    return os.pathsep.join([class_path, str(cached(f"classes-{source.stem}-{version}-{digest}", build))])


def java_command(class_path: str, main: str, *arguments: str) -> list[str]:
    """Return the command line that runs the Java class `main` with the tests' memory settings."""
    java = find_tool("java", "openjdk-17-jdk-headless")
    archive = class_archive_folder(Path(class_path.partition(os.pathsep)[0]).parent) / CLASS_ARCHIVE
    mapped = [f"-XX:SharedArchiveFile={archive}", SILENT_ARCHIVE] if archive.exists() else []
    return [java, *JVM_OPTIONS, *mapped, *_LOG_OPTIONS, "-cp", class_path, main, *arguments]


def class_archive_folder(jars: Path) -> Path:
    """Return the cache folder of the archive of classes out of `jars`; each Java that is installed has its own.

    Raises: ToolMissing: there is no Java.
    """
    java = Path(find_tool("java", "openjdk-17-jdk-headless")).resolve()
    made = f"{jars}\n{java}\n{java.stat().st_mtime_ns}"
    return cache_dir() / f"class-archive-{jars.name}-{hashlib.sha256(made.encode()).hexdigest()[:16]}"


def cached(name: str, make: Callable[[Path], None], place: Path | None = None) -> Path:
    """Return folder `name` of the cache, or of `place`; `make` fills it the first time, in one process of all that ask.

    What `make` raises goes on, and nothing is kept.
    """
    place = place or cache_dir()
    entry = place / name
    if entry.is_dir():
        return entry
    with _locked(place, name):
        if not entry.is_dir():
            with tempfile.TemporaryDirectory(dir=place, prefix=f".{name}-") as scratch:
                folder = Path(scratch) / "entry"
                folder.mkdir()
                make(folder)
                folder.rename(entry)
    return entry


@contextmanager
def _locked(place: Path, name: str) -> Iterator[None]:
    """Hold the machine-wide lock `name`; the system frees it when the holder dies."""
    path = place / "locks" / f"{name}.lock"
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as lock:

        def is_taken() -> bool:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return False
            return True

        wait_until(is_taken, FETCH_TIMEOUT_S * 1000, f"the lock {path}", interval_ms=100)
        yield


def _run(command: list[str], timeout_s: int, what: str) -> None:
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", timeout=timeout_s
        )
    except subprocess.TimeoutExpired as error:
        raise FetchError(f"{what}: not done within {timeout_s} s") from error
    if done.returncode != 0:
        raise FetchError(f"{what} failed with status {done.returncode}:\n{(done.stdout + done.stderr)[-4000:]}")
