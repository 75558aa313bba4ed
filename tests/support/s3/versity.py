"""VersityServer: versitygw, an S3 server in Go over a folder, as a process that can be killed while the data stays.

moto, in Python, keeps objects in memory: its CPU is most of what an export to it takes, and a kill of it loses what it
holds. versitygw (Apache License 2.0, github.com/versity/versitygw) is a tool of tests: `go install` fetches and builds
it into the cache, nothing of it is in this repository, and what needs it is left out where Go is missing. It has the
conditions of S3, which is
"""

import os
import shutil
import subprocess
from pathlib import Path

from tests.support.bounds import bound
from tests.support.kafka.toolchain import ToolMissing, cached
from tests.support.s3.server import ACCESS_KEY, SECRET_KEY, S3Server

MODULE, VERSION = "github.com/versity/versitygw/cmd/versitygw", "v1.8.0"
BUILT_WITHIN_S = bound(1800)


class VersityServer(S3Server):
    """A server with one bucket, `kafka`, whose objects are files below a folder; a context manager."""

    name = f"versitygw {VERSION}"

    def __init__(self, program: Path, folder: Path) -> None:
        super().__init__()
        self._program = program
        self._folder = folder

    def command(self) -> list[str]:
        """Return the command that serves the folder on the port."""
        login = ["--access", ACCESS_KEY, "--secret", SECRET_KEY]
        return [str(self._program), "--port", f"127.0.0.1:{self.port}", *login, "--quiet", "posix", str(self._folder)]


def installed_versitygw() -> Path:
    """Return the program, built into the cache the first time. Raises: ToolMissing: no Go, or it cannot be built."""

    def install(folder: Path) -> None:
        go = shutil.which("go")
        if go is None:
            raise ToolMissing("go is not installed (Debian: apt-get install golang)")
        environment = {**os.environ, "GOBIN": str(folder), "CGO_ENABLED": "0"}
        done = subprocess.run(
            [go, "install", f"{MODULE}@{VERSION}"],
            env=environment,
            capture_output=True,
            text=True,
            timeout=BUILT_WITHIN_S,
            check=False,
        )
        if done.returncode:
            raise ToolMissing(f"versitygw cannot be built: {done.stderr.strip()[-300:]}")

    return cached(f"versitygw-{VERSION}", install) / "versitygw"
