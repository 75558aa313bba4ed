"""AzureServer: Azurite, Microsoft's emulator of Azure Blob Storage, from npm, as a process of its own."""

import shutil
import subprocess
from pathlib import Path
from types import TracebackType

from pyarrow.fs import AzureFileSystem

from tests.support.bounds import bound
from tests.support.kafka.toolchain import ToolMissing, cached
from tests.support.kafka.waiting import wait_until
from tests.support.ports import lease_ports

ACCOUNT = "devstoreaccount1"
KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
"""Those of every emulator; Microsoft's documentation has them."""
CONTAINER = "kafka"
STARTED_WITHIN_MS = bound(60_000)
INSTALLED_WITHIN_S = bound(600)


class AzureServer:
    """A server with one container in memory; a context manager. What it holds ends with it."""

    def __init__(self, program: Path) -> None:
        self._lease = lease_ports()
        self.port = self._lease.take()
        self._program = program
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> "AzureServer":
        command = ["node", str(self._program), "--inMemoryPersistence", "--skipApiVersionCheck", "--silent"]
        quiet = subprocess.DEVNULL
        at = ["--blobHost", "127.0.0.1", "--blobPort", str(self.port), "--disableTelemetry"]
        self._process = subprocess.Popen([*command, *at], stdin=quiet, stdout=quiet, stderr=quiet)
        wait_until(self._has_container, STARTED_WITHIN_MS, "Azurite", interval_ms=200)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._process is not None
        self._process.kill()
        self._process.wait()
        self._lease.release()

    @property
    def environment(self) -> dict[str, str]:
        """What a process needs in its environment to use it."""
        return {
            "AZURE_STORAGE_USE_EMULATOR": "true",
            "AZURITE_BLOB_STORAGE_URL": f"http://127.0.0.1:{self.port}",
        }

    def url(self, prefix: str) -> str:
        """Return a URL as kctl takes it."""
        return f"abfs://{CONTAINER}@{ACCOUNT}.dfs.core.windows.net/{prefix}"

    def files(self) -> AzureFileSystem:
        """Return pyarrow's own client."""
        at = f"127.0.0.1:{self.port}"
        return AzureFileSystem(
            ACCOUNT,
            account_key=KEY,
            blob_storage_authority=at,
            blob_storage_scheme="http",
            dfs_storage_authority=at,
            dfs_storage_scheme="http",
        )

    def _has_container(self) -> bool:
        """Create the container, which shows that it serves."""
        try:
            self.files().create_dir(CONTAINER)
        except OSError:
            return False
        return True


def installed_azurite() -> Path:
    """Return the program of Azurite, installed by npm into the cache the first time. Raises: ToolMissing: no npm."""

    def install(folder: Path) -> None:
        npm = shutil.which("npm")
        if npm is None:
            raise ToolMissing("npm is not installed, which comes with Node.js")
        command = [npm, "install", "--no-audit", "--no-fund", "--silent", "--prefix", str(folder), "azurite@3"]
        subprocess.run(command, check=True, timeout=INSTALLED_WITHIN_S)

    return cached("azurite", install) / "node_modules/azurite/dist/src/blob/main.js"
