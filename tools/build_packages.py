"""Build what is published: sdist, wheels and a zipapp, from the files of this tree that git tracks. The same commit
gives the same bytes, in whatever folder and at whatever time.

    python tools/build_packages.py [--out dist] [--only sdist wheel pure zipapp]

`wheel` is compiled, once for each interpreter from 3.11 to 3.14 that is on PATH; `pure` needs no compiler, neither here
nor there; `zipapp` is one file for this interpreter with all dependencies in it. All are built from the sdist, which is
what others build from.
"""

import argparse
import gzip
import io
import os
import shutil
import subprocess
import sys
import tarfile
import tomllib
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

from kctl.version import DISTRIBUTION

ROOT = Path(__file__).resolve().parent.parent
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
KINDS = ("sdist", "wheel", "pure", "zipapp")


class BuildError(Exception):
    """A package could not be built; says which step failed and what it printed last."""


def build(out: Path, kinds: Iterable[str] = KINDS, root: Path = ROOT) -> list[Path]:
    """Build packages of the tree at `root`, and return their paths.

    Args:
        out: the folder to put them into; made when it is missing.
        kinds: which of KINDS; the sdist is always built, and kept when it is named.
    Raises:
        BuildError: a step failed.
    """
    out.mkdir(parents=True, exist_ok=True)
    wanted = set(kinds)
    with TemporaryDirectory(prefix="kctl-build-") as folder:
        work = Path(folder)
        epoch = _run(["git", "log", "-1", "--format=%ct"], root).strip()
        sdist = _build_sdist(root, work, int(epoch))
        source = _unpack(sdist, work / "source")
        environ = _build_environ(epoch, work)
        built = [sdist] if "sdist" in wanted else []
        if "wheel" in wanted:
            built += [_build_wheel(source, work / f"wheel-{python}", python, environ) for python in _pythons()]
        if wanted & {"pure", "zipapp"}:
            pure = _build_wheel(source, work / "pure", sys.executable, {**environ, "KCTL_PURE": "1"})
            built += [pure] if "pure" in wanted else []
            built += [_build_zipapp(pure, work, environ)] if "zipapp" in wanted else []
        return [Path(shutil.copy2(path, out / path.name)) for path in built]


def _build_environ(epoch: str, work: Path) -> dict[str, str]:
    """Return the variables under which the same source gives the same bytes: no times, no random order, no paths."""
    flags = f"-g0 -ffile-prefix-map={work}=."
    ours = {name: value for name, value in os.environ.items() if not name.startswith(("KCTL_", "PYTHON"))}
    return {
        **ours,
        "SOURCE_DATE_EPOCH": epoch,
        "PYTHONHASHSEED": "0",
        "CFLAGS": flags,
        "LDFLAGS": "-Wl,--build-id=none",
    }


def _build_sdist(root: Path, work: Path, epoch: int) -> Path:
    checkout = work / "checkout"
    checkout.mkdir()
    for name in _run(["git", "ls-files", "-z"], root).split("\0"):
        if name and (root / name).is_file():  # one that was removed and not committed is still listed
            (checkout / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(root / name, checkout / name)
    _run([sys.executable, "-m", "build", "--sdist", "--outdir", str(work / "sdist"), str(checkout)], work)
    [sdist] = (work / "sdist").iterdir()
    _normalise(sdist, epoch)
    return sdist


def _normalise(sdist: Path, epoch: int) -> None:
    """Write the archive again, sorted and without a word of when and by whom it was made."""
    plain = io.BytesIO()
    with tarfile.open(sdist) as old, tarfile.open(fileobj=plain, mode="w", format=tarfile.PAX_FORMAT) as new:
        for member in sorted(old.getmembers(), key=lambda member: member.name):
            content = old.extractfile(member) if member.isfile() else None
            member.mtime, member.uid, member.gid, member.uname, member.gname = epoch, 0, 0, "", ""
            member.mode = 0o755 if member.isdir() or member.mode & 0o100 else 0o644
            member.pax_headers = {}
            new.addfile(member, content)
    sdist.write_bytes(gzip.compress(plain.getvalue(), mtime=0))


def _unpack(sdist: Path, into: Path) -> Path:
    with tarfile.open(sdist) as tar:
        tar.extraction_filter = getattr(tarfile, "data_filter", None)  # from Python 3.11.4 on
        tar.extractall(into)
    [source] = into.iterdir()
    return source


def _build_wheel(source: Path, out: Path, python: str, environ: Mapping[str, str]) -> Path:
    """Build one wheel with what pyproject.toml asks for, in a folder of ours: pip's own would leave its name in it."""
    shutil.rmtree(source / "build", ignore_errors=True)  # what the wheel before has compiled
    needed = tomllib.loads((source / "pyproject.toml").read_text())["build-system"]["requires"]
    _run([python, "-m", "venv", str(out / "env")], source, environ)
    pip = [str(out / "env" / "bin" / "python"), "-m", "pip", "--quiet", "--disable-pip-version-check"]
    _run([*pip, "install", *needed], source, environ)
    _run([*pip, "wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", str(out), str(source)], source, environ)
    [wheel] = out.glob("*.whl")
    return wheel


def _pythons() -> list[str]:
    """Return the interpreters to compile for: this one, and those on PATH that have pip."""
    ours = f"{sys.version_info.major}.{sys.version_info.minor}"
    others = [python for python in map(_with_pip, (p for p in PYTHONS if p != ours)) if python is not None]
    return [sys.executable, *others]


def _with_pip(version: str) -> str | None:
    python = shutil.which(f"python{version}")
    if python is None:
        return None
    done = subprocess.run([python, "-m", "pip", "--version"], capture_output=True, check=False)
    return python if done.returncode == 0 else None


def _build_zipapp(wheel: Path, work: Path, environ: Mapping[str, str]) -> Path:
    """Build one file that unpacks itself on its first start: compiled dependencies cannot be loaded from a zip."""
    out = work / f"kctl-py{sys.version_info.major}{sys.version_info.minor}.pyz"
    site = work / "site"
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    _run([*pip, "install", "--no-compile", "--target", str(site), str(wheel)], work, environ)
    own = DISTRIBUTION.replace("-", "_")
    for told in site.glob(f"{own}-*.dist-info/direct_url.json"):  # where the wheel lay just now
        told.unlink()
        record = told.with_name("RECORD")
        lines = record.read_text().splitlines(keepends=True)
        record.write_text("".join(line for line in lines if "/direct_url.json," not in line))
    command = [sys.executable, "-m", "shiv", "--console-script", "kctl", "--reproducible", "--compressed"]
    _run([*command, "--python", "/usr/bin/env python3", "--site-packages", str(site), "-o", str(out)], work, environ)
    return out


def _run(command: list[str], folder: Path, environ: Mapping[str, str] | None = None) -> str:
    done = subprocess.run(command, cwd=folder, env=environ, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        last = "\n".join((done.stdout + done.stderr).splitlines()[-30:])
        raise BuildError(f"{' '.join(command[:4])} ended with {done.returncode}:\n{last}")
    return done.stdout


def main(say: Callable[[str], object] = print) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--out", type=Path, default=ROOT / "dist")
    parser.add_argument("--only", nargs="+", choices=KINDS, default=KINDS)
    arguments = parser.parse_args()
    try:
        for path in build(arguments.out.resolve(), arguments.only):
            say(f"{path.stat().st_size / 1024:8.0f} KiB  {path}")
    except BuildError as e:
        say(f"build_packages: {e}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
