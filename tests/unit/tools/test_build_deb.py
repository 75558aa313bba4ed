import shutil
import subprocess
from pathlib import Path

import pytest

from kctl.version import VERSION
from tools.build_deb import DebError, build_deb, changelog

TEXT = f"""# Changelog
## {VERSION}, unreleased
First release.

- Records: `consume`,
  and `produce`.
- Setup: `profile`.

## 0.0.1, 2020-01-01
- Old.
"""


def test_changelog_has_the_entries_of_this_version(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEBFULLNAME", "A B")
    monkeypatch.setenv("DEBEMAIL", "a@example.com")
    assert changelog(TEXT, 86400) == (
        f"kctl ({VERSION}) unstable; urgency=medium\n\n"
        "  * Records: `consume`, and `produce`.\n  * Setup: `profile`.\n\n"
        " -- A B <a@example.com>  Fri, 02 Jan 1970 00:00:00 +0000\n"
    )


def test_changelog_without_this_version_is_an_error() -> None:
    with pytest.raises(DebError, match="no entries"):
        changelog("# Changelog\n## 0.0.1\n- Old.\n", 0)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a directory as tools/build_binary.py makes it, with another program."""
    for name in (
        "share/man/man1/kctl.1",
        "share/bash-completion/completions/kctl",
        "share/zsh/site-functions/_kctl",
        "share/fish/vendor_completions.d/kctl.fish",
        "licenses/python/LICENSE.txt",
        "sbom.json",
        "lib/base_library.zip",
    ):
        path = tmp_path / "kctl" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{name}\n")
    shutil.copy2("/bin/true", tmp_path / "kctl" / "kctl")
    return tmp_path / "kctl"


@pytest.mark.skipif(shutil.which("dpkg-shlibdeps") is None, reason="not Debian, or without dpkg-dev")
def test_package_has_the_places_of_debian_and_the_same_bytes_later(folder: Path, tmp_path: Path) -> None:
    architecture = subprocess.run(["dpkg", "--print-architecture"], check=True, capture_output=True, text=True).stdout
    build_deb(folder, tmp_path / "a.deb", architecture.strip(), 86400)
    (folder / "sbom.json").touch()
    build_deb(folder, tmp_path / "b.deb", architecture.strip(), 86400)
    assert (tmp_path / "a.deb").read_bytes() == (tmp_path / "b.deb").read_bytes()
    listed = subprocess.run(
        ["dpkg-deb", "--contents", "a.deb"], cwd=tmp_path, check=True, capture_output=True, text=True
    )
    lines = [line.split(maxsplit=5) for line in listed.stdout.splitlines()]
    assert {(line[1], line[3]) for line in lines} == {("root/root", "1970-01-02")}
    files = {line[5].removeprefix("./"): line[0] for line in lines if not line[5].endswith("/")}
    share = "usr/share"
    assert files.keys() == {
        "usr/bin/kctl -> ../lib/kctl/kctl",
        "usr/lib/kctl/kctl",
        "usr/lib/kctl/lib/base_library.zip",
        f"{share}/bash-completion/completions/kctl",
        f"{share}/doc/kctl/changelog.gz",
        f"{share}/doc/kctl/copyright",
        f"{share}/doc/kctl/licenses/python/LICENSE.txt",
        f"{share}/doc/kctl/sbom.json",
        f"{share}/fish/vendor_completions.d/kctl.fish",
        f"{share}/lintian/overrides/kctl",
        f"{share}/man/man1/kctl.1.gz",
        f"{share}/zsh/vendor-completions/_kctl",
    }
    assert (files["usr/lib/kctl/kctl"], files[f"{share}/doc/kctl/copyright"]) == ("-rwxr-xr-x", "-rw-r--r--")
    fields = subprocess.run(["dpkg-deb", "--field", "a.deb"], cwd=tmp_path, check=True, capture_output=True, text=True)
    assert f"Version: {VERSION}\n" in fields.stdout
    assert "\nDepends: libc6 (>= " in fields.stdout
