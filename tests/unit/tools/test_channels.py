"""Files of package managers: derived from the checksums of a release, with the archives that the release has."""

import json
from pathlib import Path

import pytest

from kctl.version import VERSION
from tools.channels import (
    ARCHIVES,
    Archive,
    Release,
    archive_of,
    formula,
    main,
    read_sums,
    scoop_manifest,
    write_channels,
)

HOME = "https://forge.example/kctl"
SUMS = {archive.name: f"{number:064x}" for number, archive in enumerate(ARCHIVES)}
ZEROS = "0" * 64
LINES = "".join(f"{digest}  {name}\n" for name, digest in SUMS.items())


def test_each_archive_has_its_address_and_checksum(tmp_path: Path) -> None:
    texts = "".join(path.read_text() for path in write_channels(Release(HOME, SUMS), tmp_path))
    for archive in ARCHIVES:
        assert f"{HOME}/releases/download/v{VERSION}/kctl-{VERSION}-{archive.platform}{archive.end}" in texts
        assert SUMS[archive.name] in texts


def test_scoop_installs_the_archive_of_windows() -> None:
    manifest = json.loads(scoop_manifest(Release(HOME, SUMS)))
    assert manifest["architecture"]["64bit"]["hash"] == SUMS[f"kctl-{VERSION}-windows-x86_64.zip"]
    assert manifest["architecture"]["64bit"]["url"].endswith(f"/v{VERSION}/kctl-{VERSION}-windows-x86_64.zip")


def test_archive_without_a_checksum_is_left_out(tmp_path: Path) -> None:
    linux = {name: digest for name, digest in SUMS.items() if "linux-x86_64" in name}
    release = Release(HOME, linux)
    assert [path.name for path in write_channels(release, tmp_path)] == ["kctl.rb", "kctl.yaml", "flake.nix"]
    assert "on_intel" in formula(release)
    assert "on_arm" not in formula(release)


@pytest.mark.parametrize(
    "line", ["abc  kctl", "0" * 64 + " kctl", "g" * 64 + "  kctl", "0" * 64 + "  ../kctl", "0" * 64]
)
def test_line_that_is_no_checksum_is_refused(line: str) -> None:
    with pytest.raises(ValueError, match="line 2: expected a SHA-256 checksum"):
        read_sums(f"{ZEROS}  kctl\n{line}\n")


def test_release_without_archives_exits_with_1(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sums = tmp_path / "SHA256SUMS"
    options = ["--home", HOME, "--sums", str(sums), "--out", str(tmp_path / "out")]
    assert main(options) == 1
    sums.write_text(f"{ZEROS}  other\n")
    assert main(options) == 1
    assert f"has no archive of kctl {VERSION}" in capsys.readouterr().out
    sums.write_text(LINES)
    assert main(options) == 0


def test_each_archive_has_another_name() -> None:
    names = [archive.name for archive in ARCHIVES]
    assert len(set(names)) == len(names)
    assert all(isinstance(archive, Archive) and archive.runner for archive in ARCHIVES)


@pytest.mark.parametrize(
    ("system", "machine", "files"),
    [
        ("linux", "x86_64", ["linux-x86_64.tar.gz", "linux-x86_64", "linux-x86_64.sbom.json", "_amd64.deb"]),
        ("linux", "aarch64", ["linux-arm64.tar.gz", "linux-arm64", "linux-arm64.sbom.json", "_arm64.deb"]),
        ("darwin", "arm64", ["macos-arm64.tar.gz", "macos-arm64", "macos-arm64.sbom.json"]),
        ("win32", "AMD64", ["windows-x86_64.zip", "windows-x86_64.exe", "windows-x86_64.sbom.json"]),
        ("linux", "riscv64", ["linux-riscv64.tar.gz", "linux-riscv64", "linux-riscv64.sbom.json"]),
    ],
)
def test_files_of_a_machine_have_the_names_of_the_table(system: str, machine: str, files: list[str]) -> None:
    named = [f"kctl_{VERSION}{end}" if end.startswith("_") else f"kctl-{VERSION}-{end}" for end in files]
    assert archive_of(system, machine).files == named
