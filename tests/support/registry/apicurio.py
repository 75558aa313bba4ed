"""Apicurio Registry 3: a real schema registry, whose jars Maven fetches once; it speaks Confluent's interface, too."""

import subprocess
import tarfile
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

from kctl.client.clock import SystemClock
from tests.support.bounds import bound
from tests.support.kafka.toolchain import FETCH_TIMEOUT_S, cached, find_tool
from tests.support.ports import lease_ports

VERSION = "3.0.9"
READY_MS = bound(90_000)


def apicurio_folder() -> Path:
    """Return the unpacked registry. Raises: ToolMissing, FetchError: as kafka_jars."""

    def fetch(folder: Path) -> None:
        find_tool("java", "openjdk-17-jdk-headless")
        maven = find_tool("mvn", "maven")
        with tempfile.TemporaryDirectory(dir=folder.parent) as scratch:
            artifact = f"io.apicurio:apicurio-registry-app:{VERSION}:tar.gz:all"
            command = [maven, "-q", "-B", "dependency:copy", f"-Dartifact={artifact}", f"-DoutputDirectory={scratch}"]
            subprocess.run(command, check=True, timeout=FETCH_TIMEOUT_S)
            [archive] = Path(scratch).glob("*.tar.gz")
            with tarfile.open(archive) as packed:
                packed.extractall(folder, filter="data")

    return cached(f"apicurio-{VERSION}", fetch)


@contextmanager
def running_apicurio() -> Iterator[str]:
    """Run a registry while the block lasts; yields its URL of Confluent's interface."""
    folder = apicurio_folder()
    lease = lease_ports()
    port = lease.take()
    java = find_tool("java", "openjdk-17-jdk-headless")
    options = ["-Xmx256m", "-XX:+UseSerialGC", "-Dquarkus.http.host=127.0.0.1", f"-Dquarkus.http.port={port}"]
    jar = f"apicurio-registry-app-{VERSION}-runner.jar"
    with tempfile.TemporaryFile() as log:
        process = subprocess.Popen([java, *options, "-jar", jar], cwd=folder, stdout=log, stderr=log)
        try:
            url = f"http://127.0.0.1:{port}/apis/ccompat/v7"
            _wait_until_ready(process, f"{url}/subjects")
            yield url
        finally:
            process.kill()
            process.wait()
            lease.release()


def _wait_until_ready(process: subprocess.Popen[bytes], url: str) -> None:
    clock = SystemClock()
    until_ms = clock.now_ms() + READY_MS
    pause = threading.Event()
    while clock.now_ms() < until_ms and process.poll() is None:
        try:
            with urlopen(url, timeout=bound(5)):
                return
        except (URLError, OSError):
            pause.wait(0.2)
    raise RuntimeError(f"Apicurio did not start on {url}")
