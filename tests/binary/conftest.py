"""The results of `make binary`, and the file systems in which they run: one without Python, a Debian release with the
package, and the image of the Containerfile.
"""

import json
import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.cli.processes import BOUND_S
from tests.support.bounds import bound
from tools.channels import Archive, archive_of
from tools.debian_root import command_in, debian_root

ROOT = Path(__file__).parents[2]
RELEASES = {"debian:12-slim": "bookworm"}
"""Base images of the Containerfile, and the Debian releases in them."""
NEWEST = "trixie"
MINUTES_S = bound(600)
"""apt runs here; a hang ends after this."""
OLD_LISTS = 'Acquire::Check-Valid-Until "false";\n'
"""Configuration of apt: the clock of a test machine may be ahead."""


class Binary:
    """One form of the binary in a file system."""

    def __init__(
        self, root: Path, program: Sequence[str], *, user: str = "", environ: dict[str, str] | None = None
    ) -> None:
        self.root = root
        self._program = program
        self._user = user
        self._environ = environ or {}

    def command(self, *arguments: str, environ: dict[str, str] | None = None) -> list[str]:
        """Return the command of a run; the file system of another user is read-only."""
        return command_in(
            self.root,
            [*self._program, *arguments],
            environ={**self._environ, **(environ or {})},
            kept=("KCTL_BOOTSTRAP_SERVERS",),
            user=self._user,
            is_read_only=bool(self._user),
        )

    def run(
        self, *arguments: str, stdin: bytes = b"", code: int = 0, environ: dict[str, str] | None = None
    ) -> tuple[str, str]:
        """Return stdout and stderr of a run, which exits with `code`."""
        done = subprocess.run(
            self.command(*arguments, environ=environ), input=stdin, capture_output=True, timeout=BOUND_S, check=False
        )
        stdout, stderr = done.stdout.decode(), done.stderr.decode()
        assert done.returncode == code, (arguments, done.returncode, stdout, stderr)
        assert "Traceback" not in stderr
        return stdout, stderr

    def file(self, name: str, content: bytes) -> str:
        """Write a file and return its path as the binary sees it."""
        (self.root / "data" / name).write_bytes(content)
        return f"/data/{name}"

    @contextmanager
    def running(self, *arguments: str) -> Iterator["subprocess.Popen[bytes]"]:
        process = subprocess.Popen(
            self.command(*arguments), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        try:
            yield process
        finally:
            process.terminate()
            process.communicate(timeout=BOUND_S)


@pytest.fixture(scope="session")
def built() -> Path:
    """Return the directory with the results of `make binary`; that target builds them first."""
    return Path(os.environ.get("KCTL_BINARY", ROOT / "build" / "binary")).resolve()


@pytest.fixture(scope="session")
def target() -> Archive:
    """Return the archive of this machine."""
    return archive_of("linux", os.uname().machine)


@pytest.fixture(scope="session")
def root(built: Path, target: Archive, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the file system that has the C library, zlib, the binary, and nothing else: no Python, no shell."""
    root = tmp_path_factory.mktemp("root")
    listed = subprocess.run(
        ["dpkg", "-L", "libc6", "zlib1g"], check=True, capture_output=True, text=True
    ).stdout.split()
    for path in map(Path, listed):
        if path.parent.name.endswith("-linux-gnu") and ".so" in path.name:
            library = root / "lib" / path.parent.name / path.name
            library.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(path.resolve(), library)
    loader = Path("/lib64/ld-linux-x86-64.so.2")
    (root / "lib64").mkdir()
    shutil.copy2(loader.resolve(), root / "lib64" / loader.name)
    for name in ("dev", "proc", "tmp", "data", "root"):
        (root / name).mkdir()
    shutil.copytree(built / "made" / "kctl", root / "opt" / "kctl", symlinks=True)
    shutil.copy2(built / target.one_file, root / "opt" / "one-file")
    return root


def copy_of(suite: str, folder: Path) -> Path:
    """Return a copy of the file system of a Debian release, in which a test installs."""
    root = folder / suite
    subprocess.run(["cp", "--archive", str(debian_root(suite, ())), str(root)], check=True)
    (root / "etc/apt/apt.conf.d/90-tests").write_text(OLD_LISTS)
    for name in ("data", "packages"):
        (root / name).mkdir()
    return root


def run_in(root: Path, command: str, environ: dict[str, str] | None = None) -> str:
    """Return the output of a shell command in a file system."""
    ran = command_in(root, ["sh", "-c", command], environ={"DEBIAN_FRONTEND": "noninteractive", **(environ or {})})
    done = subprocess.run(ran, capture_output=True, text=True, timeout=MINUTES_S, check=False)
    assert done.returncode == 0, f"{command}: {done.returncode}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}"
    return done.stdout


@pytest.fixture(scope="session")
def debian(built: Path, target: Archive, tmp_path_factory: pytest.TempPathFactory) -> Binary:
    """Return the Debian package, installed in the newest release."""
    assert target.deb is not None
    root = copy_of(NEWEST, tmp_path_factory.mktemp("debian"))
    shutil.copy2(built / target.deb, root / "packages")
    run_in(root, f"apt-get -qq update && apt-get -qq install --yes --no-install-recommends /packages/{target.deb}")
    return Binary(root, ["/usr/bin/kctl"])


class Image:
    """The image that the Containerfile describes: its steps run in a Debian release, as a builder would run them."""

    def __init__(self, text: str, built: Path, target: Archive, folder: Path) -> None:
        self.environ: dict[str, str] = {}
        self.user = ""
        self._folder = folder
        self._built = built
        self._target = target
        self._arguments: dict[str, str] = {}
        lines = re.sub(r"\\\n\s*", "", re.sub(r"^\s*#.*\n", "", text, flags=re.MULTILINE)).splitlines()
        for line in filter(str.strip, lines):
            instruction, _, rest = line.partition(" ")
            getattr(self, f"_{instruction.lower()}")(rest.strip())
        self.binary = Binary(
            self.root, ["/usr/bin/env", f"--chdir={self.directory}", *self.entry], user=self.user, environ=self.environ
        )

    def _from(self, base: str) -> None:
        self.root = copy_of(RELEASES[base], self._folder)

    def _arg(self, text: str) -> None:
        name, _, value = text.partition("=")
        self._arguments[name] = self._target.debian if name == "TARGETARCH" else value

    def _run(self, text: str) -> None:
        assert text.startswith("--mount=type=bind,target=/packages ")
        folder = self.root / "packages"
        assert self._target.deb is not None
        shutil.copy2(self._built / self._target.deb, folder)
        run_in(self.root, text.partition(" ")[2], {**self._arguments, **self.environ})
        shutil.rmtree(folder)
        folder.mkdir()

    def _env(self, text: str) -> None:
        name, _, value = text.partition("=")
        self.environ[name] = shlex.split(value)[0]

    def _user(self, text: str) -> None:
        self.user = text

    def _workdir(self, text: str) -> None:
        self.directory = text

    def _entrypoint(self, text: str) -> None:
        self.entry = json.loads(text)


@pytest.fixture(scope="session")
def image(built: Path, target: Archive, tmp_path_factory: pytest.TempPathFactory) -> Binary:
    """Return kctl in the image: another user than root, and no file that it can write."""
    return Image((ROOT / "Containerfile").read_text(), built, target, tmp_path_factory.mktemp("image")).binary


@pytest.fixture(params=["folder", "one-file", "debian", "image"])
def binary(request: pytest.FixtureRequest) -> Binary:
    """Return each form."""
    if request.param in ("debian", "image"):
        form: Binary = request.getfixturevalue(request.param)
        return form
    return Binary(request.getfixturevalue("root"), [FORMS[request.param]])


FORMS = {"folder": "/opt/kctl/kctl", "one-file": "/opt/one-file"}


@pytest.fixture
def folder(root: Path) -> Binary:
    """Return the directory."""
    return Binary(root, [FORMS["folder"]])
