"""Build kctl together with Python, for systems with the glibc of this machine or a newer one: a directory, its archive,
one file that unpacks itself at each start, on Debian a package, a bill of materials, and checksums.

    python tools/build_binary.py WHEEL [--out build/binary]

kctl comes from the wheel alone. The extras of the command line are in it, except those that need Spark; `kerberos`
needs libkrb5-dev. The same wheel and commit give the same bytes, in every directory and at every time.
"""

import argparse
import gzip
import hashlib
import io
import json
import os
import platform
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from tools.bill_of_materials import UnknownOriginError, bill_of, parts_of, write_licenses
from tools.build_deb import DebError, build_deb
from tools.channels import archive_of

ROOT = Path(__file__).resolve().parent.parent
BUILDER = "pyinstaller>=6.15,<7"
LEFT_OUT = {
    "aio",  # programs import it, and no program can import from the binary
    "dev",  # of the tests
    "lakes",  # of jobs on Spark
    "otel",  # programs import it, and give it their SDK
    "spark",  # needs Java, and has 400 MB
}
"""Extras that are not in the binary."""
SHARE = {
    "man/*.1": "man/man1",
    "man/*.7": "man/man7",
    "completions/bash/kctl": "bash-completion/completions",
    "completions/zsh/_kctl": "zsh/site-functions",
    "completions/fish/kctl.fish": "fish/vendor_completions.d",
}


class BuildError(Exception):
    """A step failed; contains the end of its output."""


def build(wheel: Path, out: Path) -> list[Path]:
    """Build the directory `kctl` in `out/made`, and the files of a release in `out`, and return their paths.

    Raises: BuildError.
    """
    out.mkdir(parents=True, exist_ok=True)
    epoch = int(_run(["git", "log", "-1", "--format=%ct"], ROOT).strip())
    environ = _environ(epoch, out)
    python, packages = _prepare(wheel, out, environ)
    folders = ["--distpath", str(out / "made"), "--workpath", str(out / "work")]
    command = [str(python), "-P", "-m", "PyInstaller", "--noconfirm", *folders, str(ROOT / "tools" / "binary.spec")]
    _run(command, out, environ)
    target = archive_of(sys.platform, platform.machine())
    made = out / "made" / "kctl"
    _add_shared_files(made)
    sources = json.loads((out / "work" / "binary" / "sources.json").read_text())
    try:
        parts = parts_of(map(Path, sources), packages)
        bill = bill_of(parts, target.platform, epoch)
        write_licenses(parts, made / "licenses")
        for path in (made / "sbom.json", out / target.bill):
            path.write_text(bill)
        if target.deb is not None and shutil.which("dpkg-deb"):
            build_deb(made, out / target.deb, target.debian, epoch)
    except (UnknownOriginError, DebError) as e:
        raise BuildError(str(e)) from e
    _archive(made, out / target.name, epoch)
    shutil.copy2(next((out / "made").glob("kctl-one-file*")), out / target.one_file)
    files = [out / name for name in target.files if (out / name).is_file()]
    sums = out / "SHA256SUMS"
    sums.write_text("".join(f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in files))
    return [made, *files, sums]


def _environ(epoch: int, out: Path) -> dict[str, str]:
    """Return the variables under which the same source gives the same bytes, and nothing comes from this checkout."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("KCTL_", "PYTHON"))}
    flags = {"CFLAGS": "-g0"}  # of packages that pip compiles in a directory with a random name
    if sys.platform.startswith("linux"):
        flags["LDFLAGS"] = "-Wl,--build-id=none"
    fixed = {"SOURCE_DATE_EPOCH": str(epoch), "PYTHONHASHSEED": "0", "PYINSTALLER_CONFIG_DIR": str(out / "work")}
    # A wheel in the cache of pip was compiled with other flags.
    return {**kept, **flags, **fixed, "PIP_NO_CACHE_DIR": "1"}


def _prepare(wheel: Path, out: Path, environ: Mapping[str, str]) -> tuple[Path, Path]:
    """Install the wheel and PyInstaller in an environment, and return its Python and its directory of packages."""
    folder = out / "env"
    python = folder / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
    if not python.exists():
        _run([sys.executable, "-m", "venv", str(folder)], out, environ)
    pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    constraints = ["--constraint", str(_pins(out / "pins.txt"))]
    if "kerberos" in _extras():
        pip += ["--find-links", str(_gssapi(out / "gssapi", constraints, environ))]
    _run([*pip, *constraints, BUILDER, f"{wheel}[{','.join(_extras())}]"], out, environ)
    _run([*pip, "--force-reinstall", "--no-deps", str(wheel)], out, environ)
    packages = _run([str(python), "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"], out, environ)
    return python, Path(packages.strip())


def _gssapi(folder: Path, constraints: Sequence[str], environ: Mapping[str, str]) -> Path:
    """Build the wheel of gssapi in this directory, and return the directory.

    Cython infers types in the order of sets, which differs from run to run. The only module whose types depend on it is
    compiled without this.
    """
    _run([sys.executable, "-m", "venv", str(folder / "env")], ROOT, environ)
    python = str(folder / "env" / "bin" / "python")
    pip = [python, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    source = [*constraints, "--no-deps", "--no-binary", "gssapi", "--dest", str(folder), "gssapi"]
    _run([*pip, "download", *source], folder, environ)
    [archive] = folder.glob("gssapi-*.tar.gz")
    with tarfile.open(archive) as tar:
        tar.extractall(folder, filter="data")
    unpacked = folder / archive.name.removesuffix(".tar.gz")
    oids = unpacked / "gssapi" / "raw" / "oids.pyx"
    oids.write_text("# cython: infer_types=False\n" + oids.read_text())
    needs = tomllib.loads((unpacked / "pyproject.toml").read_text())["build-system"]["requires"]
    _run([*pip, "install", *constraints, *needs], folder, environ)
    _run([python, "setup.py", "--quiet", "bdist_wheel", "--dist-dir", str(folder)], unpacked, environ)
    return folder


def _extras() -> list[str]:
    optional = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    missing = set() if shutil.which("krb5-config") else {"kerberos"}
    return sorted(optional.keys() - LEFT_OUT - missing)


def _pins(path: Path) -> Path:
    """Write the tested versions without their hashes, which pip would require of kctl's wheel too."""
    pins: dict[str, str] = {}
    for name in ("release.txt", "constraints.txt", "kerberos.txt"):
        for line in (ROOT / "requirements" / name).read_text().splitlines():
            if "==" in line:
                pin = line.partition(" \\")[0]
                pins[pin.partition("==")[0]] = pin
    path.write_text("".join(f"{pin}\n" for pin in pins.values()))
    return path


def _add_shared_files(made: Path) -> None:
    for pattern, place in SHARE.items():
        folder = made / "share" / place
        folder.mkdir(parents=True, exist_ok=True)
        for source in ROOT.glob(pattern):
            shutil.copyfile(source, folder / source.name)
    shutil.copyfile(ROOT / "LICENSE", made / "LICENSE")


def _archive(folder: Path, archive: Path, epoch: int) -> None:
    """Write the files of a directory in the order of their names, without their times and owners."""
    paths = sorted(folder.rglob("*"))
    if archive.suffix == ".zip":
        with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as zipped:
            for path in filter(Path.is_file, paths):
                zipped.writestr(zipfile.ZipInfo(f"kctl/{path.relative_to(folder).as_posix()}"), path.read_bytes())
        return
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for path in paths:
            member = tar.gettarinfo(path, f"kctl/{path.relative_to(folder)}")
            member.mtime, member.uid, member.gid, member.uname, member.gname = epoch, 0, 0, "", ""
            member.mode = 0o755 if member.mode & 0o100 else 0o644
            with path.open("rb") if member.isfile() else io.BytesIO() as content:
                tar.addfile(member, content)
    archive.write_bytes(gzip.compress(plain.getvalue(), mtime=0))


def _run(command: Sequence[str], folder: Path, environ: Mapping[str, str] | None = None) -> str:
    done = subprocess.run(command, cwd=folder, env=environ, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        last = "\n".join((done.stdout + done.stderr).splitlines()[-30:])
        raise BuildError(f"{' '.join(command[:4])} exited with {done.returncode}:\n{last}")
    return done.stdout


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("wheel", type=Path)
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "binary")
    arguments = parser.parse_args()
    try:
        for path in build(arguments.wheel.resolve(), arguments.out.resolve()):
            print(f"{path.stat().st_size >> 10:8} KiB  {path}" if path.is_file() else f"{'':12}  {path}")
    except BuildError as e:
        print(f"build_binary: {e}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
