"""Debian package of the directory that tools/build_binary.py makes. DEBFULLNAME and DEBEMAIL name the maintainer.

The same directory gives the same bytes. dpkg-shlibdeps finds the libraries that the package needs.
"""

import gzip
import hashlib
import os
import re
import shutil
import subprocess
import textwrap
from collections.abc import Sequence
from email.utils import formatdate
from pathlib import Path
from tempfile import TemporaryDirectory

from kctl.version import VERSION
from tools.channels import DETAILS, LICENSE, SUMMARY

CHANGES = Path(__file__).resolve().parent.parent / "CHANGELOG.md"
MAINTAINER = ("kctl maintainers", "kctl@localhost.localdomain")
"""Of a package that is not for publication."""
SHARE = {
    "bash-completion/completions": "bash-completion/completions",
    "fish/vendor_completions.d": "fish/vendor_completions.d",
    "zsh/site-functions": "zsh/vendor-completions",
}
"""Directories below share, and their names in Debian."""
COPYRIGHT = f"""Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: kctl
Comment: usr/lib/kctl/lib has Python and other packages, with licenses of their own. /usr/share/doc/kctl/sbom.json lists
 them, and /usr/share/doc/kctl/licenses has the texts.

Files: *
Copyright: 2026 kctl contributors
License: {LICENSE}

License: {LICENSE}
 On Debian systems, /usr/share/common-licenses/{LICENSE} has the text of the license.
"""
OVERRIDES = """# The package has the libraries of the tested versions, and runs on each release of Debian.
kctl: embedded-library *
# Wheels find their own libraries by a path relative to themselves.
kctl: custom-library-search-path *
# Modules of Python use symbols of the interpreter alone.
kctl: library-not-linked-against-libc *
kctl: shared-library-lacks-prerequisites *
# The launcher is part of PyInstaller, which distributes it compiled.
kctl: hardening-no-pie *
"""
LAUNCHER = Path("usr/lib/kctl/kctl")
SECTION, PRIORITY = "utils", "optional"


class DebError(Exception):
    """A step failed; contains its output."""


def build_deb(folder: Path, deb: Path, architecture: str, epoch: int) -> None:
    """Write the package of a directory.

    Args: epoch: time of all files, in seconds since 1970.
    Raises: DebError.
    """
    with TemporaryDirectory(prefix="kctl-deb-") as work:
        root = Path(work, "root")
        _lay_out(folder, root, epoch)
        size = sum(path.lstat().st_size for path in root.rglob("*") if path.is_file()) // 1024
        control = root / "DEBIAN"
        control.mkdir()
        sums = {path: hashlib.md5(path.read_bytes(), usedforsecurity=False).hexdigest() for path in _files(root)}
        (control / "md5sums").write_text("".join(f"{sum}  {path.relative_to(root)}\n" for path, sum in sums.items()))
        (control / "control").write_text(
            f"Package: kctl\nVersion: {VERSION}\nArchitecture: {architecture}\nMaintainer: {_maintainer()}\n"
            f"Installed-Size: {size}\nDepends: {_needed(root, Path(work), architecture)}\nRecommends: ca-certificates\n"
            f"Section: {SECTION}\nPriority: {PRIORITY}\nDescription: {SUMMARY}\n{_wrapped(DETAILS)}\n"
        )
        for path in [root, *root.rglob("*")]:
            if not path.is_symlink():
                path.chmod(0o755 if path.is_dir() or path == root / LAUNCHER else 0o644)
            os.utime(path, (epoch, epoch), follow_symlinks=False)
        options = ["--root-owner-group", "-Zxz", "--threads-max=1", "--build"]
        _run(["dpkg-deb", *options, str(root), str(deb)], Path(work), epoch)


def _lay_out(folder: Path, root: Path, epoch: int) -> None:
    home, share = root / "usr/lib/kctl", root / "usr/share"
    doc = share / "doc/kctl"
    home.mkdir(parents=True)
    shutil.copy2(folder / "kctl", home / "kctl")
    shutil.copytree(folder / "lib", home / "lib", symlinks=True)
    (root / "usr/bin").mkdir()
    (root / "usr/bin/kctl").symlink_to("../lib/kctl/kctl")
    for place, in_debian in SHARE.items():
        shutil.copytree(folder / "share" / place, share / in_debian)
    for manual in (folder / "share/man").rglob("kctl*"):
        _write(share / "man" / manual.parent.name / f"{manual.name}.gz", _compressed(manual.read_bytes()))
    shutil.copytree(folder / "licenses", doc / "licenses")
    shutil.copy2(folder / "sbom.json", doc / "sbom.json")
    _write(doc / "copyright", COPYRIGHT.encode())
    _write(doc / "changelog.gz", _compressed(changelog(CHANGES.read_text(), epoch).encode()))
    _write(share / "lintian/overrides/kctl", OVERRIDES.encode())


def changelog(text: str, epoch: int) -> str:
    """Return the entries of this version in Debian's form. Raises: DebError: the text has none."""
    section = re.search(rf"^## {re.escape(VERSION)}\b.*?\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    entries = re.findall(r"^- (.+(?:\n  .+)*)", section[1], re.MULTILINE) if section else []
    if not entries:
        raise DebError(f"{CHANGES.name} has no entries of {VERSION}")
    lines = [
        textwrap.fill(" ".join(entry.split()), 78, initial_indent="  * ", subsequent_indent="    ") for entry in entries
    ]
    body = "\n".join(lines)
    return (
        f"kctl ({VERSION}) unstable; urgency=medium\n\n{body}\n\n -- {_maintainer()}  {formatdate(epoch)}\n"
    ).replace("-0000", "+0000")


def _maintainer() -> str:
    name, address = (
        os.environ.get(key) or own for key, own in zip(("DEBFULLNAME", "DEBEMAIL"), MAINTAINER, strict=True)
    )
    return f"{name} <{address}>"


def _needed(root: Path, work: Path, architecture: str) -> str:
    """Return the packages of Debian that have the libraries outside the package.

    The launcher starts without the libraries of the package, so it uses only those. dpkg-shlibdeps also lists the
    packages of libraries that this package has itself.
    """
    (work / "debian").mkdir()
    (work / "debian/control").write_text(f"Source: kctl\n\nPackage: kctl\nArchitecture: {architecture}\n")
    programs = [path for path in _files(root / "usr/lib/kctl") if path.read_bytes()[:4] == b"\x7fELF"]
    folders = sorted({f"-l{path.parent}" for path in programs})

    def packages(*files: Path) -> dict[str, str]:
        found = _run(["dpkg-shlibdeps", "-O", "--ignore-missing-info", *folders, *map(str, files)], work)
        return {each.split(" ")[0]: each for each in found.strip().removeprefix("shlibs:Depends=").split(", ")}

    every = packages(*programs)
    return ", ".join(every[name] for name in sorted(packages(root / LAUNCHER)))


def _files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())


def _wrapped(text: str) -> str:
    return textwrap.fill(text, 78, initial_indent=" ", subsequent_indent=" ")


def _compressed(content: bytes) -> bytes:
    return gzip.compress(content, mtime=0)


def _write(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def _run(command: Sequence[str], folder: Path, epoch: int = 0) -> str:
    environ = {**os.environ, "SOURCE_DATE_EPOCH": str(epoch)}
    done = subprocess.run(command, cwd=folder, env=environ, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise DebError(f"{command[0]} exited with {done.returncode}:\n{(done.stdout + done.stderr)[-2000:]}")
    return done.stdout
