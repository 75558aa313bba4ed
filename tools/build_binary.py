"""Build kctl together with Python, for systems with the glibc of this machine or a newer one: a directory, its archive,
and one file that unpacks itself at each start.

    python tools/build_binary.py WHEEL [--out build/binary]

The extras of the command line are in it, except those that need Spark; `kerberos` needs libkrb5-dev.
"""

import argparse
import hashlib
import io
import lzma
import os
import platform
import shutil
import subprocess
import sys
import tarfile
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path

from kctl.version import VERSION

ROOT = Path(__file__).resolve().parent.parent
BUILDER = "pyinstaller>=6.15,<7"
LEFT_OUT = {"aio", "dev", "lakes", "spark"}
"""Extras of the library, of tests, and of jobs on Spark."""
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
    """Build the directory `kctl` in `out`, its archive, the one file, and their checksums. Raises: BuildError."""
    epoch = _run(["git", "log", "-1", "--format=%ct"]).strip()
    environ = {**os.environ, "SOURCE_DATE_EPOCH": epoch, "PYTHONHASHSEED": "0"}
    python = out / "env" / "bin" / "python"
    if not python.exists():
        _run([sys.executable, "-m", "venv", str(python.parent.parent)])
    pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    constraints = ["--constraint", str(_pins(out / "pins.txt"))]
    _run([*pip, *constraints, BUILDER, f"{wheel}[{','.join(_extras())}]"])
    _run([*pip, "--force-reinstall", "--no-deps", str(wheel)])
    folders = ["--distpath", str(out / "made"), "--workpath", str(out / "work")]
    _run([str(python), "-m", "PyInstaller", "--noconfirm", *folders, str(ROOT / "tools" / "binary.spec")], environ)
    made = out / "made" / "kctl"
    for pattern, place in SHARE.items():
        target = made / "share" / place
        target.mkdir(parents=True, exist_ok=True)
        for source in ROOT.glob(pattern):
            shutil.copyfile(source, target / source.name)
    shutil.copyfile(ROOT / "LICENSE", made / "LICENSE")
    name = f"kctl-{VERSION}-linux-{platform.machine()}"
    archive, one_file = out / f"{name}.tar.xz", out / name
    _archive(made, archive, int(epoch))
    shutil.copy2(out / "made" / "kctl-one-file", one_file)
    sums = out / "SHA256SUMS"
    sums.write_text("".join(f"{hashlib.sha256(p.read_bytes()).hexdigest()}  {p.name}\n" for p in (archive, one_file)))
    return [made, archive, one_file, sums]


def _extras() -> list[str]:
    optional = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    missing = set() if shutil.which("krb5-config") else {"kerberos"}
    return sorted(optional.keys() - LEFT_OUT - missing)


def _pins(path: Path) -> Path:
    """Write the tested versions without their hashes, which pip would require of kctl's wheel too."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = (ROOT / "requirements" / "constraints.txt").read_text().splitlines()
    path.write_text("\n".join(line.partition(" \\")[0] for line in lines if "==" in line) + "\n")
    return path


def _archive(folder: Path, archive: Path, epoch: int) -> None:
    """Write the files of a directory in the order of their names, without their times and owners."""
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for path in sorted(folder.rglob("*")):
            member = tar.gettarinfo(path, f"kctl/{path.relative_to(folder)}")
            member.mtime, member.uid, member.gid, member.uname, member.gname = epoch, 0, 0, "", ""
            with path.open("rb") if member.isfile() else io.BytesIO() as content:
                tar.addfile(member, content)
    archive.write_bytes(lzma.compress(plain.getvalue(), preset=6))


def _run(command: Sequence[str], environ: Mapping[str, str] | None = None) -> str:
    done = subprocess.run(command, cwd=ROOT, env=environ, capture_output=True, text=True, check=False)
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
