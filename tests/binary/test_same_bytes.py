"""The same wheel gives the same archive, one file, Debian package, and bill of materials in another directory."""

import sys
from pathlib import Path

from tools.build_binary import ROOT, build


def test_second_build_in_another_directory_has_the_same_checksums(built: Path, tmp_path: Path) -> None:
    tag = f"cp{sys.version_info.major}{sys.version_info.minor}"
    [wheel] = (ROOT / "dist").glob(f"kctl_kafka-*-{tag}-*.whl")
    *_, sums = build(wheel, tmp_path / "again")
    assert sums.read_text() == (built / "SHA256SUMS").read_text()
