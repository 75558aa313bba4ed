"""The same tree gives the same packages: sdist, wheels, and zipapp."""

import hashlib
from collections.abc import Iterable
from pathlib import Path

from tools.build_packages import build


def digests(paths: Iterable[Path]) -> dict[str, str]:
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in paths}


def test_second_build_in_another_directory_has_the_same_bytes(packages: list[Path], tmp_path: Path) -> None:
    assert digests(build(tmp_path / "again")) == digests(packages)
