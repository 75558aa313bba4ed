"""The release workflow, the Containerfile, and the files of package managers pass their own checkers.

`make release-files` installs the checkers; a missing one is a failure.
"""

import json
import re
import subprocess
from pathlib import Path

import pytest
import yaml

from tests.support.bounds import bound
from tools.channels import ARCHIVES, Release, write_channels

ROOT = Path(__file__).parents[2]
WORKFLOW = ROOT / ".github" / "workflows" / "release.yml"
ACTIONLINT = "github.com/rhysd/actionlint/cmd/actionlint@v1.7.12"
KREW = "sigs.k8s.io/krew/cmd/validate-krew-manifest@v0.4.3"
MINUTES_S = bound(600)
SUMS = {archive.name: f"{number:064x}" for number, archive in enumerate(ARCHIVES)}


@pytest.fixture(scope="module")
def channels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a directory with the files of all package managers."""
    folder = tmp_path_factory.mktemp("channels")
    write_channels(Release("https://forge.example/kctl", SUMS), folder)
    return folder


def check(*command: str, folder: Path = ROOT) -> str:
    """Return the output of a checker that accepts its input."""
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=MINUTES_S, check=False)
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def test_workflow_is_valid() -> None:
    assert check("go", "run", ACTIONLINT, str(WORKFLOW)) == ""


def test_workflow_has_no_known_hole() -> None:
    check("zizmor", "--offline", str(WORKFLOW))


def test_workflow_builds_the_archives_of_the_table() -> None:
    jobs = yaml.safe_load(WORKFLOW.read_text())["jobs"]
    runners = [row["runner"] for row in jobs["binary"]["strategy"]["matrix"]["include"]]
    assert runners == [archive.runner for archive in ARCHIVES]
    linux = {archive.runner for archive in ARCHIVES if archive.platform.startswith("linux")}
    assert {row["runner"] for row in jobs["image"]["strategy"]["matrix"]["include"]} == linux
    published = [job for job, value in jobs.items() if value.get("environment") == "pypi"]
    assert published == ["publish"]
    assert jobs["publish"]["permissions"] == {"id-token": "write"}


def test_page_lists_the_settings_that_the_workflow_reads() -> None:
    settings = set(re.findall(r"\bvars\.(\w+)", WORKFLOW.read_text()))
    assert settings == {"IMAGE", "MAINTAINER_NAME", "MAINTAINER_EMAIL"}
    assert settings <= set(re.findall(r"`(\w+)`", (ROOT / "docs" / "releasing.md").read_text()))


def test_attested_bills_are_those_that_the_binary_has() -> None:
    bills = re.findall(r"sbom-path: files/kctl-\S+ \S+ \S+-(linux-\w+)\.sbom\.json", WORKFLOW.read_text())
    assert bills == [archive.platform for archive in ARCHIVES if archive.platform.startswith("linux")]


@pytest.mark.parametrize(
    ("platform", "processors", "kinds"),
    [
        ("linux", "x86_64,aarch64", ["manylinux_x86_64", "manylinux_aarch64", "musllinux_x86_64", "musllinux_aarch64"]),
        ("macos", "x86_64,arm64", ["macosx_x86_64", "macosx_arm64"]),
        ("windows", "AMD64", ["win_amd64"]),
    ],
)
def test_wheels_are_built_for_each_python_and_system(platform: str, processors: str, kinds: list[str]) -> None:
    listed = check("cibuildwheel", "--platform", platform, "--archs", processors, "--print-build-identifiers", ".")
    expected = {f"cp3{minor}-{kind}" for minor in (11, 12, 13, 14) for kind in kinds}
    assert set(listed.split()) == expected


def test_containerfile_is_clean() -> None:
    assert check("hadolint", "Containerfile") == ""


def test_formula_is_ruby(channels: Path) -> None:
    assert check("ruby", "-wc", "kctl.rb", folder=channels) == "Syntax OK\n"


def test_krew_accepts_the_manifest(channels: Path) -> None:
    check("go", "run", KREW, "-manifest", str(channels / "kctl.yaml"), "-skip-install")


def test_flake_has_a_package_for_each_system(channels: Path) -> None:
    outputs = "(import ./flake.nix).outputs { self = 0; nixpkgs = 0; }"
    expression = f"builtins.mapAttrs (_: p: builtins.attrNames p) ({outputs}).packages"
    printed = check(
        "nix-instantiate", "--eval", "--strict", "--json", "--store", "dummy://", "--expr", expression, folder=channels
    )
    assert json.loads(printed) == {archive.nix: ["default"] for archive in ARCHIVES if archive.nix}
