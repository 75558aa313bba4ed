"""Folders with a Debian release, made by debootstrap, and commands that run in one: for tests that need another Python,
or none. Needs root.

    python tools/debian_root.py SUITE --packages A,B [--at TREE] -- COMMAND ...

The folder is made once, in the cache of the tests ($KCTL_CACHE, ~/.cache/kctl). Mounts are made in a namespace of the
command alone, so they end with it.
"""

import argparse
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from hashlib import sha256
from pathlib import Path

ROOTS = Path(os.environ.get("KCTL_CACHE") or Path.home() / ".cache" / "kctl", "roots")
FROM_HOST = ("etc/resolv.conf", "etc/hosts", "etc/ssl/certs/ca-certificates.crt", "etc/pip.conf")
"""Files by which package installers of this machine reach an index."""


class RootError(Exception):
    """A folder cannot be made, or a command in it failed; says which."""


def debian_root(suite: str, packages: Sequence[str]) -> Path:
    """Return the folder of a release with these packages; made if it is missing. Raises: RootError."""
    name = sha256(" ".join([suite, *sorted(packages)]).encode()).hexdigest()[:12]
    root = ROOTS / f"{suite}-{name}"
    if root.is_dir():
        return root
    if shutil.which("debootstrap") is None:
        raise RootError("debootstrap is missing: apt-get install debootstrap")
    part = root.with_suffix(f".{os.getpid()}")
    part.parent.mkdir(parents=True, exist_ok=True)
    try:
        _run(["debootstrap", "--variant=minbase", "--include=ca-certificates", suite, str(part)])
        for path in map(Path, FROM_HOST):
            if ("/" / path).is_file():
                (part / path).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile("/" / path, part / path)
        if packages:
            apt = "apt-get -qq -o Acquire::Check-Valid-Until=false"  # the clock of a test machine may be ahead
            install = f"{apt} update && {apt} install --yes --no-install-recommends {' '.join(packages)} && {apt} clean"
            _run(command_in(part, ["sh", "-c", install], environ={"DEBIAN_FRONTEND": "noninteractive"}))
        part.rename(root)
    finally:
        shutil.rmtree(part, ignore_errors=True)
    return root


def command_in(
    root: Path,
    command: Sequence[str],
    *,
    tree: Path | None = None,
    environ: Mapping[str, str] = {},
    kept: Sequence[str] = (),
    user: str = "",
    is_read_only: bool = False,
) -> list[str]:
    """Return the command that runs `command` with `root` as its file system.

    Args:
        tree: a folder of this machine that is /src there and the working folder, otherwise /.
        environ: all variables of the command but PATH, HOME, and those of `kept`.
        kept: names of variables that the command has from its caller.
        user: user and group, `65532:65532`; otherwise root.
        is_read_only: whether no file of `root` can change.
    """
    at = shlex.quote(str(root))
    steps = [f"mount --bind {at} {at}", f"mount -o remount,ro,bind {at}"] if is_read_only else []
    steps += [f"mount -t proc proc {at}/proc", f"mount --rbind /dev {at}/dev"] if (root / "proc").is_dir() else []
    if tree is not None:
        steps += [f"mkdir -p {at}/src", f"mount --bind {shlex.quote(str(tree))} {at}/src"]
    variables = {"PATH": "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", "HOME": "/root", **environ}
    entered = ["env", "-i", *(shlex.quote(f"{name}={value}") for name, value in variables.items())]
    entered += [f'${{{name}+"{name}=${name}"}}' for name in kept]
    entered += ["chroot", *([f"--userspec={user}"] if user else []), at]
    if tree is not None:
        entered += ["sh", "-c", """'cd /src && exec "$@"'""", "sh"]
    script = "; ".join(["set -e", *steps, f'exec {" ".join(entered)} "$@"'])
    return ["unshare", "--mount", "--propagation", "private", "sh", "-c", script, "sh", *command]


def _run(command: Sequence[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        last = "\n".join((done.stdout + done.stderr).splitlines()[-10:])
        raise RootError(f"{command[0]} exited with {done.returncode}:\n{last}")


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("suite")
    parser.add_argument("--packages", default="", help="further packages, separated by commas")
    parser.add_argument("--at", type=Path, help="a folder that is /src there")
    parser.add_argument("command", nargs="+")
    arguments = parser.parse_args()
    try:
        root = debian_root(arguments.suite, [name for name in arguments.packages.split(",") if name])
    except RootError as e:
        print(f"debian_root: {e}")
        return 1
    kept = {name: value for name, value in os.environ.items() if name.startswith(("PIP_", "KCTL_"))}
    return subprocess.run(command_in(root, arguments.command, tree=arguments.at, environ=kept), check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
