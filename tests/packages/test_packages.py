"""What is published: what is in it, that it installs with and without a compiler, and that it runs from there."""

import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from kctl.version import VERSION
from tests.packages.conftest import MINUTES_S, Installed, bare_environ
from tools.build_packages import build

ROOT = Path(__file__).parents[2]
COMPILERS = ("cc", "gcc", "c++", "g++", "clang", "clang++", "x86_64-linux-gnu-gcc", "aarch64-linux-gnu-gcc")
IS_COMPILED = "from kctl.client.records._hot import is_compiled; print(is_compiled())"


def _one(packages: list[Path], *, end: str, without: str = "\0") -> Path:
    [found] = [path for path in packages if path.name.endswith(end) and without not in path.name]
    return found


@pytest.fixture(scope="session")
def sdist(packages: list[Path]) -> Path:
    return _one(packages, end=".tar.gz")


@pytest.fixture(scope="session")
def pure(packages: list[Path]) -> Path:
    return _one(packages, end="-py3-none-any.whl")


@pytest.fixture(scope="session")
def wheel(packages: list[Path]) -> Path:
    ours = f"cp{sys.version_info.major}{sys.version_info.minor}"
    [found] = [path for path in packages if path.suffix == ".whl" and f"-{ours}-" in path.name]
    return found


@pytest.fixture(scope="session")
def zipapp(packages: list[Path]) -> Path:
    return _one(packages, end=".pyz")


def tracked() -> set[str]:
    """Return the files of this tree that git tracks."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return {name for name in listed.split("\0") if name and (ROOT / name).is_file()}


def test_the_sdist_has_what_is_needed_to_build_and_test(sdist: Path) -> None:
    with tarfile.open(sdist) as tar:
        names = {name.partition("/")[2] for name in tar.getnames()}
    missing = {name for name in tracked() if name.startswith(("kctl/", "completions/", "man/"))} - names
    assert missing == set()
    assert {"pyproject.toml", "setup.py", "README.md", "LICENSE", "CHANGELOG.md"} <= names
    assert [name for name in names if name.endswith((".so", ".pyc"))] == []


@pytest.mark.parametrize("kind", ["pure", "wheel"])
def test_a_wheel_has_the_package_and_nothing_else(kind: str, request: pytest.FixtureRequest) -> None:
    path = request.getfixturevalue(kind)
    with zipfile.ZipFile(path) as archive:
        names = archive.namelist()
    code = {name for name in names if name.endswith(".py")}
    assert code == {name for name in tracked() if name.startswith("kctl/") and name.endswith(".py")}
    outside = {name.partition("/")[0] for name in names if not name.startswith("kctl/")}
    allowed = {f"kctl_kafka-{VERSION}.dist-info", f"kctl_kafka-{VERSION}.data"}
    compiled = [name for name in names if name.endswith(".so")]
    if kind == "wheel":
        assert compiled
        assert all(
            name.startswith(("kctl/client/records/_hot/", "kctl/client/protocol/frame_room.")) for name in compiled
        )
    else:
        assert compiled == []
    assert outside <= allowed
    assert any(name.endswith("licenses/LICENSE") for name in names)
    assert "kctl/py.typed" in names
    shared = {name.partition(".data/data/share/")[2] for name in names if ".data/data/share/" in name}
    manuals = {f"man/man{name[-1]}/{name.removeprefix('man/')}" for name in tracked() if name.startswith("man/")}
    assert shared == manuals | {
        "bash-completion/completions/kctl",
        "zsh/site-functions/_kctl",
        "fish/vendor_completions.d/kctl.fish",
    }


def test_the_same_tree_gives_the_same_bytes(packages: list[Path], tmp_path: Path) -> None:
    def digests(paths: list[Path]) -> dict[str, str]:
        return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in paths}

    kinds = (
        "sdist",
        os.environ.get("KCTL_REPRODUCE", "pure"),
        "zipapp",
    )  # the compiler's time is for make reproducible
    again = digests(build(tmp_path / "again", kinds))
    before = digests(packages)
    assert again == {name: before[name] for name in again}


def _try_out(kctl: Path | str, run: Callable[..., str]) -> None:
    """Produce to a sandbox and read it back, with what is installed and nothing else."""
    program = (
        "from kctl.sandbox import Sandbox\n"
        "import subprocess, sys\n"
        "with Sandbox(nodes=1, topics={'t': 1}).serve() as served:\n"
        "    for line in (['produce', 't'], ['consume', 't', '-o', 'start', '-e']):\n"
        "        done = subprocess.run([*sys.argv[1:], *line, '-b', served.bootstrap], input=b'hello\\n', check=True,\n"
        "                              stdout=subprocess.PIPE)\n"
        "print(done.stdout.decode(), end='')\n"
    )
    assert run("-c", program, *([str(kctl)] if isinstance(kctl, Path) else kctl.split("\n"))) == "hello\n"


def test_a_wheel_in_an_empty_environment(wheel: Path, install: Callable[..., Installed]) -> None:
    installed = install(wheel)
    assert installed.run(str(installed.kctl), "--version") == f"kctl {VERSION}\n"
    assert installed.run(str(installed.python), "-c", IS_COMPILED) == "True\n"
    _try_out(installed.kctl, lambda *words: installed.run(str(installed.python), *words))


def test_the_sdist_with_a_compiler(sdist: Path, install: Callable[..., Installed]) -> None:
    installed = install(sdist)
    assert installed.run(str(installed.python), "-c", IS_COMPILED) == "True\n"


def test_a_pure_wheel_in_an_empty_environment(pure: Path, install: Callable[..., Installed]) -> None:
    installed = install(pure)
    assert installed.run(str(installed.python), "-c", IS_COMPILED) == "False\n"
    _try_out(installed.kctl, lambda *words: installed.run(str(installed.python), *words))


def test_pipx_takes_a_wheel(pure: Path, tmp_path: Path) -> None:
    """Into an environment of its own: the command and its manual pages are where pipx puts them, and it goes again."""
    places = {"PIPX_HOME": "home", "PIPX_BIN_DIR": "bin", "PIPX_MAN_DIR": "man"}
    environ = {**bare_environ(), **{name: str(tmp_path / folder) for name, folder in places.items()}}

    def run(*words: str) -> str:
        done = subprocess.run(words, cwd=tmp_path, env=environ, capture_output=True, text=True, timeout=MINUTES_S)
        assert done.returncode == 0, f"{words}: {done.stdout}\n{done.stderr}"
        return done.stdout

    pipx, kctl = (sys.executable, "-m", "pipx"), tmp_path / "bin" / "kctl"
    run(*pipx, "install", str(pure))
    assert run(str(kctl), "--version") == f"kctl {VERSION}\n"
    assert (tmp_path / "man" / "man1" / "kctl-consume.1").is_file()
    run(*pipx, "uninstall", "kctl-kafka")
    assert not kctl.exists()


@pytest.fixture(scope="session")
def without_compiler(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Variables under which no C compiler is found."""
    folder = tmp_path_factory.mktemp("bin")
    for place in dict.fromkeys(os.environ["PATH"].split(":")):
        for program in sorted(Path(place).glob("*")) if Path(place).is_dir() else ():
            if "gcc" not in program.name and program.name not in COMPILERS and not (folder / program.name).exists():
                (folder / program.name).symlink_to(program)
    environ = {**bare_environ(), "PATH": str(folder)}
    assert shutil.which("gcc", path=environ["PATH"]) is None
    return environ


def test_the_sdist_without_a_compiler(
    sdist: Path, install: Callable[..., Installed], without_compiler: dict[str, str]
) -> None:
    installed = install(sdist, environ=without_compiler)
    assert installed.run(str(installed.python), "-c", IS_COMPILED) == "False\n"
    tests = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-x", "tests/cli/test_produce_consume.py"],
        cwd=ROOT,
        env={**os.environ, "KCTL_TEST_COMMAND": str(installed.kctl)},
        capture_output=True,
        text=True,
        timeout=MINUTES_S,
    )
    assert tests.returncode == 0, tests.stdout


def test_the_zipapp_is_one_file_that_runs(
    zipapp: Path, pure: Path, install: Callable[..., Installed], tmp_path: Path
) -> None:
    installed = install(pure)  # for a sandbox to talk to; the zipapp itself has all it needs
    environ = {**bare_environ(), "SHIV_ROOT": str(tmp_path)}
    alone = (sys.executable, "-I", str(zipapp))
    assert installed.run(*alone, "--version", environ=environ) == f"kctl {VERSION}\n"
    run: Callable[..., str] = lambda *words: installed.run(str(installed.python), *words, environ=environ)  # noqa: E731 - short for what follows
    _try_out("\n".join(alone), run)
