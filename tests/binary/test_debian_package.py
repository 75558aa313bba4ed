"""The Debian package: lintian accepts it, and its files are those that Debian expects."""

import gzip
import subprocess
from pathlib import Path

from kctl.version import VERSION
from tests.binary.conftest import MINUTES_S, ROOT, Binary, run_in
from tools.channels import Archive


def test_lintian_finds_nothing(built: Path, target: Archive) -> None:
    shown = ("--fail-on", "error,warning", "--display-level", ">=warning")
    # A release sets the address of its maintainer in DEBEMAIL.
    address = ("--suppress-tags", "bogus-mail-host,bogus-mail-host-in-debian-changelog")
    command = ["lintian", "--allow-root", *shown, *address, str(target.deb)]
    done = subprocess.run(command, cwd=built, capture_output=True, text=True, timeout=MINUTES_S, check=False)
    assert (done.returncode, done.stdout) == (0, "")


def test_package_needs_the_c_library_and_zlib(built: Path, target: Archive) -> None:
    shown = subprocess.run(
        ["dpkg-deb", "--field", str(target.deb), "Package", "Version", "Architecture", "Depends"],
        cwd=built,
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    fields = dict(line.split(": ") for line in shown.splitlines())
    assert {name.split(" ")[0] for name in fields.pop("Depends").split(", ")} == {"libc6", "zlib1g"}
    assert fields == {"Package": "kctl", "Version": VERSION, "Architecture": target.debian}


def test_manuals_completions_changes_and_licenses_are_where_debian_has_them(debian: Binary) -> None:
    share = debian.root / "usr/share"
    for manual in (ROOT / "man").iterdir():
        installed = share / "man" / f"man{manual.suffix[1:]}" / f"{manual.name}.gz"
        assert gzip.decompress(installed.read_bytes()) == manual.read_bytes()
    for own, place in (
        ("bash/kctl", "bash-completion/completions/kctl"),
        ("zsh/_kctl", "zsh/vendor-completions/_kctl"),
        ("fish/kctl.fish", "fish/vendor_completions.d/kctl.fish"),
    ):
        assert (share / place).read_bytes() == (ROOT / "completions" / own).read_bytes()
    doc = share / "doc/kctl"
    assert gzip.decompress((doc / "changelog.gz").read_bytes()).startswith(f"kctl ({VERSION}) ".encode())
    assert "License: Apache-2.0" in (doc / "copyright").read_text()
    assert (doc / "licenses/python/LICENSE.txt").is_file()


def test_purged_package_leaves_no_file(debian: Binary, tmp_path: Path) -> None:
    copy = tmp_path / "root"
    subprocess.run(["cp", "--archive", str(debian.root), str(copy)], check=True)
    run_in(copy, "dpkg --purge kctl")
    left = [path for path in copy.joinpath("usr").rglob("*kctl*") if path.is_file() or path.is_symlink()]
    assert left == []
