"""A Spark standalone cluster on this machine for tests: a master and workers, each a process that can be killed.

Owns their processes, ports and folders. Knows nothing of kctl.
"""

import os
import signal
import sys
from pathlib import Path
from types import TracebackType

from tests.pipeline.processes import children_of
from tests.pipeline.spark_classes import SHORT_LIVED, spark_home
from tests.support.bounds import bound
from tests.support.kafka.lifeline import ServerProcess, make_folder, remove_folder
from tests.support.kafka.waiting import wait_until
from tests.support.ports import HOST, PortLease, lease_ports

START_TIMEOUT_MS = bound(60_000)


class StandaloneCluster:
    """One master and its workers, each with one core and a host of its own; a context manager.

    Attributes:
        master: URL for --master.
        workers: their processes; killing one takes its executor along.
    """

    def __init__(self, workers: int = 2, *, executor_java: str = "") -> None:
        """Start nothing yet. Args: executor_java: Java options of executors too, beside what a session gives them."""
        self._executor_java = executor_java
        self._folder = make_folder("spark")
        self._lease: PortLease = lease_ports()
        port = self._lease.take()
        self.master = f"spark://{HOST}:{port}"
        self._command_of_master = [
            *("org.apache.spark.deploy.master.Master", "--host", HOST, "--port", str(port)),
            *("--webui-port", str(self._lease.take())),
        ]
        self._master = ServerProcess("Spark master", self._folder / "master.log")
        self.workers = [
            ServerProcess(f"Spark worker {number}", self._folder / f"worker-{number}.log") for number in range(workers)
        ]

    def __enter__(self) -> "StandaloneCluster":
        try:
            self._master.start(self._spark_class(self._command_of_master))
            self._wait_for(self._master, "I have been elected leader")
            for number in range(len(self.workers)):
                self.start_worker(number)
            for number in range(len(self.workers)):
                self.wait_for_worker(number)
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def start_worker(self, number: int) -> None:
        """Start a worker, for the first time or after it was killed; returns at once."""
        worker = self.workers[number]
        worker.log_path.unlink(missing_ok=True)
        host = f"127.0.0.{number + 1}"  # Spark speculates on another host only
        worker.start(
            self._spark_class(
                [
                    *("org.apache.spark.deploy.worker.Worker", "--host", host, "--cores", "1", "--memory", "1g"),
                    *("--work-dir", str(self._folder / f"work-{number}"), "--webui-port", "0", self.master),
                ],
                host,
            )
        )

    def wait_for_worker(self, number: int) -> None:
        """Return when the master has a worker."""
        self._wait_for(self.workers[number], "Successfully registered with master")

    def kill_executors(self) -> int:
        """Kill the executors, which their workers start again; return how many."""
        pids = [pid for worker in self.workers for pid in children_of(worker.pid) if _is_executor(pid)]
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
        return len(pids)

    def logs(self) -> str:
        """Return what all processes and executors have said."""
        files = sorted(path for path in self._folder.rglob("*") if path.is_file() and path.suffix in ("", ".log"))
        return "\n".join(path.read_text(errors="replace") for path in files)

    def close(self) -> None:
        """End all processes and remove their folders."""
        for process in (*self.workers, self._master):
            process.kill()
        remove_folder(self._folder)
        self._lease.release()

    def _wait_for(self, process: ServerProcess, words: str) -> None:
        def is_said() -> bool:
            assert process.is_running, f"{process.name} ended:\n{process.log_tail()}"
            return process.log_path.exists() and words in process.log_path.read_text(errors="replace")

        wait_until(is_said, START_TIMEOUT_MS, f"{process.name} to say {words!r}")

    def _spark_class(self, arguments: list[str], host: str = HOST) -> list[str]:
        environment = [
            f"SPARK_DAEMON_JAVA_OPTS={SHORT_LIVED}",
            "SPARK_DAEMON_MEMORY=256m",
            f"SPARK_LOCAL_IP={host}",
            f"PYSPARK_PYTHON={sys.executable}",
            f"PATH={os.environ['PATH']}",
            *([f"JDK_JAVA_OPTIONS={self._executor_java}"] if self._executor_java else []),
        ]
        # An environment of its own: what the workers need of kctl has to be shipped, not inherited.
        return ["env", "-i", *environment, str(spark_home() / "bin" / "spark-class"), *arguments]


def _is_executor(pid: int) -> bool:
    try:
        return b"CoarseGrainedExecutorBackend" in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:  # it has ended meanwhile
        return False
