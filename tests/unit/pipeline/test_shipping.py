"""What a cluster gets of kctl, and what has to be alike there."""

import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Any

import pytest

from kctl.pipeline.job_errors import SparkSetUpError
from kctl.pipeline.shipping import check_alike, describe_python, write_archive
from tests.support.bounds import bound

PROGRAM = """
import sys
sys.path.insert(0, sys.argv[1])
import kctl.client.consumer, kctl.pipeline.export_files.range_files, kctl.pipeline.shipping, cramjam
for module in (kctl, cramjam):
    assert module.__file__.startswith(sys.argv[1]), module.__file__
print(kctl.pipeline.shipping.describe_python())
"""


@pytest.mark.slow
def test_the_archive_alone_runs_the_client(tmp_path: Path) -> None:
    """In an interpreter that sees nothing else, but for pyarrow, which the workers have."""
    archive, folder = tmp_path / "kctl.tgz", tmp_path / "unpacked"
    assert write_archive(archive) > 300
    with tarfile.open(archive) as packed:
        packed.extraction_filter = getattr(tarfile, "data_filter", None)  # from Python 3.11.4 on
        packed.extractall(folder)
    assert not list(folder.rglob("__pycache__"))
    site = [path for path in sys.path if path.endswith("site-packages")]
    command = [sys.executable, "-I", "-S", "-c", f"import sys; sys.path += {site}\n{PROGRAM}", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=bound(60))
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == str(describe_python())


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("python", "CPython 3.9", "has python CPython 3.9, but this machine has"),
        ("platform", "linux aarch64", "has platform linux aarch64"),
        ("kctl", "0.0.1", "has kctl 0.0.1"),
        ("pyarrow", "", "does not have pyarrow"),
        ("compiled", False, "no compiled record codec"),
    ],
)
def test_worker_that_differs_is_refused_with_the_difference(field: str, value: Any, words: str) -> None:
    ours = describe_python()._replace(compiled=True)
    check_alike(ours, ours)
    with pytest.raises(SparkSetUpError, match=f"worker on .*{words}"):
        check_alike(ours, ours._replace(**{field: value}))
