"""Code for the workers of a cluster: archives of kctl and its compiled dependencies.

A zip on the Python path cannot hold extensions, so Spark unpacks archives. PySpark comes with Spark; pyarrow is too
large to send and must be installed on the workers.

- `write_archive` writes one archive for a session that kctl starts (`spark.archives` and PYTHONPATH).
- `package_archives` writes one archive for each package, for a session that exists. Spark unpacks them into directories
  with the names of the packages, in a directory that precedes others on the workers' Python path.
"""

import gzip
import platform
import socket
import sys
import tarfile
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import NamedTuple

import kctl
from kctl.pipeline.job_errors import SparkSetUpError
from kctl.version import VERSION

SHIPPED = ("cramjam",)
"""Distributions that the client imports. Dependencies of the command line are not sent."""
FOLDER = "kctl_shipped"
_NOT_SHIPPED = ("__pycache__",)


class PythonDescription(NamedTuple):
    """Properties of a Python environment that must be equal on the driver and the workers.

    Attributes:
        compiled: whether the compiled record codec is in use.
    """

    host: str
    executable: str
    python: str
    platform: str
    kctl: str
    pyarrow: str
    compiled: bool


def describe_python() -> PythonDescription:
    from kctl.client.records import is_compiled

    try:
        pyarrow = metadata.version("pyarrow")
    except metadata.PackageNotFoundError:
        pyarrow = ""
    return PythonDescription(
        socket.gethostname(),
        sys.executable,
        f"{platform.python_implementation()} {sys.version_info.major}.{sys.version_info.minor}",
        f"{sys.platform} {platform.machine()}",
        VERSION,
        pyarrow,
        is_compiled(),
    )


def check_alike(driver: PythonDescription, worker: PythonDescription) -> None:
    """Raise SparkSetUpError with the difference if the driver's code cannot execute on the worker."""
    where = f"worker on {worker.host} ({worker.executable})"
    for name in ("python", "platform", "kctl"):
        ours, theirs = getattr(driver, name), getattr(worker, name)
        if ours != theirs:
            raise SparkSetUpError(
                f"the {where} has {name} {theirs}, but this machine has {name} {ours}",
                "set --worker-python to the same Python version on the same platform, because kctl sends compiled "
                "files",
            )
    if not worker.pyarrow:
        raise SparkSetUpError(
            f"the {where} does not have pyarrow", "install pyarrow on the worker with: pip install pyarrow"
        )
    if driver.compiled and not worker.compiled:
        raise SparkSetUpError(
            f"cannot use the {where}: its kctl has no compiled record codec, and would be several times slower"
        )


def write_archive(path: Path) -> int:
    """Write the archive, and return the number of its files."""
    count = 0
    with tarfile.open(path, "w:gz", compresslevel=1) as archive:
        for source, name in _files():
            archive.add(source, name, recursive=False)
            count += 1
    return count


def package_archives(folder: Path) -> list[str]:
    """Write the archives, and return their paths, each with the name of its package as `PATH#NAME`.

    Equal files give equal archives, which a session accepts again.
    """
    packages: dict[str, list[tuple[Path, str]]] = {}
    for source, name in _files():
        package, slash, inner = name.partition("/")
        if slash and not package.endswith(".dist-info"):
            packages.setdefault(package, []).append((source, inner))
    found = []
    for package, files in packages.items():
        path = folder / f"{package}.tgz"
        with gzip.GzipFile(path, "wb", 1, mtime=0) as compressed, tarfile.open(fileobj=compressed, mode="w") as archive:
            for source, inner in files:
                archive.add(source, inner, recursive=False)
        found.append(f"{path}#{package}")
    return found


def _files() -> Iterator[tuple[Path, str]]:
    package = Path(kctl.__file__).parent
    for source in sorted(package.rglob("*")):
        if source.is_file() and not any(part in _NOT_SHIPPED for part in source.parts):
            yield source, str(Path("kctl") / source.relative_to(package))
    for name in SHIPPED:
        try:
            listed = metadata.files(name)
        except metadata.PackageNotFoundError:
            listed = None
        if not listed:
            raise SparkSetUpError(f"cannot send package {name} to the workers: its installation has no list of files")
        for file in listed:
            source = Path(str(file.locate()))
            if source.is_file() and not file.is_absolute() and not any(p in (*_NOT_SHIPPED, "..") for p in file.parts):
                yield source, str(file)
