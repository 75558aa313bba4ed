"""JVM of a session, as a child process that can be stopped while it starts.

PySpark's own function returns only after the JVM responds. If it is killed before, it leaves a directory with a secret.
SparkProcess keeps the secret in the session's directory until PySpark connects.
"""

import os
import shlex
import signal
import subprocess
import threading
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

END_S = 5.0
_LOOK_S = 0.05
_PORT, _SECRET = "PYSPARK_GATEWAY_PORT", "PYSPARK_GATEWAY_SECRET"
SAFE_PATH = {"PYTHONSAFEPATH": "1"}
"""Prevents `python -m`, with which Spark starts its workers, from importing modules of the working directory."""


class SparkProcess:
    """JVM that listens to this process, and exits when its standard input ends, which this process holds."""

    def __init__(self, properties: Mapping[str, str], folder: Path, log: IO[bytes]) -> None:
        """Start the JVM.

        Args:
            folder: a private directory.
            log: destination of the JVM's output.
        """
        from pyspark.find_spark_home import _find_spark_home

        self._told = folder / "gateway"
        program = Path(_find_spark_home(), "bin", "spark-submit")  # type: ignore[no-untyped-call]  # PySpark has no types
        named = [word for name, value in properties.items() for word in ("--conf", f"{name}={value}")]
        submitted = shlex.split(os.environ.get("PYSPARK_SUBMIT_ARGS", "pyspark-shell"))
        told = {"SPARK_CONNECT_MODE": "0", "_PYSPARK_DRIVER_CONN_INFO_PATH": str(self._told)}
        self._process = subprocess.Popen(
            [str(program), *named, *submitted],
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=log,
            env={**os.environ, **SAFE_PATH, **told},
            start_new_session=True,  # Ctrl-C is for the driver
        )
        self._is_taken = False

    def gateway(self) -> Any:
        """Return PySpark's gateway when the JVM responds.

        Raises:
            OSError: the JVM exited first.
            Exception: PySpark cannot connect to the JVM.
        """
        from pyspark.java_gateway import launch_gateway

        self._wait_for_address()
        told = self._told.read_bytes()
        self._told.unlink()
        os.environ[_PORT] = str(int.from_bytes(told[:4], "big"))
        os.environ[_SECRET] = told[8:].decode()
        try:
            gateway = launch_gateway()  # type: ignore[no-untyped-call]  # PySpark has no types
        finally:
            del os.environ[_PORT], os.environ[_SECRET]
        self._is_taken = True
        return gateway

    def _wait_for_address(self) -> None:
        pause = threading.Event()
        while not self._told.exists():
            if self._process.poll() is not None:
                raise OSError(f"the Java process exited with code {self._process.returncode}")
            pause.wait(_LOOK_S)

    def end(self) -> None:
        """Stop the JVM. After `gateway`, the JVM has `END_S` to exit. Otherwise it is killed immediately."""
        if self._process.stdin is not None:
            self._process.stdin.close()
        if self._is_taken:
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(END_S)
        if self._process.poll() is None:
            with suppress(ProcessLookupError):  # it has just exited
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait(END_S)
