"""What is published: what is in it, that it installs with and without a compiler, and that it runs from there."""

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
from tests.docs.pages import first_look
from tests.packages.conftest import MINUTES_S, ROOT, Installed, bare_environ, clone_into, tracked
from tests.support.release_tools import release_tool

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


@pytest.mark.parametrize(
    ("package", "is_compiled"), [("wheel", True), ("sdist", True), ("pure", False)], ids=["wheel", "sdist", "pure"]
)
def test_package_in_an_empty_environment_has_the_quick_start_of_the_readme(
    package: str,
    is_compiled: bool,
    request: pytest.FixtureRequest,
    install: Callable[..., Installed],
    tmp_path: Path,
) -> None:
    installed = install(request.getfixturevalue(package))
    assert installed.run(str(installed.kctl), "--version") == f"kctl {VERSION}\n"
    assert installed.run(str(installed.python), "-c", IS_COMPILED) == f"{is_compiled}\n"
    assert first_look([str(installed.kctl)], tmp_path) == []


@pytest.mark.parametrize("source", ["wheel", "checkout"])
def test_pipx_installs_command_and_manuals_and_removes_them(source: str, pure: Path, tmp_path: Path) -> None:
    places = {"PIPX_HOME": "home", "PIPX_BIN_DIR": "bin", "PIPX_MAN_DIR": "man"}
    environ = {**bare_environ(), **{name: str(tmp_path / folder) for name, folder in places.items()}}
    folder = tmp_path if source == "wheel" else clone_into(tmp_path / "clone")

    def run(*words: str) -> str:
        done = subprocess.run(words, cwd=folder, env=environ, capture_output=True, text=True, timeout=MINUTES_S)
        assert done.returncode == 0, f"{words}: {done.stdout}\n{done.stderr}"
        return done.stdout

    pipx, kctl = (sys.executable, "-m", "pipx"), tmp_path / "bin" / "kctl"
    run(*pipx, "install", str(pure) if source == "wheel" else ".")
    assert first_look([str(kctl)], tmp_path) == []
    assert (tmp_path / "man" / "man1" / "kctl-consume.1").is_file()
    run(*pipx, "uninstall", "kctl-kafka")
    assert not kctl.exists()


def test_uvx_runs_the_checkout(tmp_path: Path) -> None:
    clone = clone_into(tmp_path / "clone")
    own = {"UV_CACHE_DIR": str(tmp_path / "cache"), "UV_PYTHON": sys.executable, "UV_PYTHON_DOWNLOADS": "never"}
    uvx = [release_tool("uvx"), "--from", ".", "kctl"]
    done = subprocess.run(
        [*uvx, "--version"],
        cwd=clone,
        env={**bare_environ(), **own},
        capture_output=True,
        text=True,
        timeout=MINUTES_S,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, f"kctl {VERSION}\n"), done.stderr
    assert first_look(["env", *(f"{name}={value}" for name, value in own.items()), *uvx], clone) == []


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


def test_zipapp_is_one_file_that_runs(zipapp: Path, tmp_path: Path) -> None:
    alone = ["env", f"SHIV_ROOT={tmp_path / 'unpacked'}", sys.executable, "-I", str(zipapp)]
    done = subprocess.run([*alone, "--version"], env=bare_environ(), capture_output=True, text=True, timeout=MINUTES_S)
    assert (done.returncode, done.stdout) == (0, f"kctl {VERSION}\n"), done.stderr
    assert first_look(alone, tmp_path) == []
