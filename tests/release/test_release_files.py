"""The release workflow, the Containerfile, and the files of package managers pass their own checkers.

`make release-files` installs the checkers; a missing one is a failure.
"""

import json
import re
import subprocess
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import pytest
import yaml

from kctl.version import VERSION
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


def steps_of(job: str) -> list[dict[str, Any]]:
    """Return the steps of a job of the workflow."""
    steps: list[dict[str, Any]] = yaml.safe_load(WORKFLOW.read_text())["jobs"][job]["steps"]
    return steps


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


BUILT = {name for archive in ARCHIVES for name in archive.files}
"""Files of tools/build_binary.py; tests/binary compares them with those that it writes."""
PACKAGES = {
    f"kctl_kafka-{VERSION}.tar.gz",
    f"kctl_kafka-{VERSION}-py3-none-any.whl",
    f"kctl_kafka-{VERSION}-cp311-cp311-linux_x86_64.whl",
    "kctl-py311.pyz",
}
"""Files of tools/build_packages.py; tests/packages finds them by these ends."""
NAMED = re.compile(r"[\w./-]*kctl[-_*\[][^\s'\"`|,]*")


def patterns_of(text: str) -> list[str]:
    """Return the names and patterns of files of a release in a text, without directories."""
    version = text.replace("${{ steps.files.outputs.version }}", VERSION).replace('"${TARGETARCH}"', "amd64")
    return [word.rpartition("/")[2] for word in NAMED.findall(version)]


def matched(patterns: list[str], names: set[str]) -> dict[str, set[str]]:
    return {pattern: {name for name in names if fnmatch(name, pattern)} for pattern in patterns}


@pytest.mark.parametrize("page", [WORKFLOW, ROOT / "Containerfile"], ids=lambda page: page.name)
def test_each_file_that_is_named_is_built(page: Path) -> None:
    found = matched(patterns_of(page.read_text()), BUILT | PACKAGES)
    assert found
    assert [pattern for pattern, names in found.items() if not names] == []


def test_workflow_keeps_all_that_the_binary_job_builds() -> None:
    [step] = [step for step in steps_of("binary") if step.get("uses", "").startswith("actions/upload-artifact@")]
    folder, _, pattern = step["with"]["path"].rpartition("/")
    assert folder == "build/binary"
    assert matched([pattern], BUILT)[pattern] == BUILT


def test_workflow_attests_each_file_of_linux_with_its_bill() -> None:
    attested = [step["with"] for step in steps_of("release") if step.get("uses", "").startswith("actions/attest-sbom@")]
    linux = [archive for archive in ARCHIVES if archive.platform.startswith("linux")]
    assert len(attested) == len(linux)
    for archive, step in zip(linux, attested, strict=True):
        assert patterns_of(step["sbom-path"]) == [archive.bill]
        found = matched(patterns_of(step["subject-path"]), BUILT)
        assert set().union(*found.values()) == set(archive.files)


def test_page_lists_the_files_of_a_release() -> None:
    rows = [
        line.split("|")[1] for line in (ROOT / "docs" / "releasing.md").read_text().splitlines() if line[:3] == "| `"
    ]
    found = matched(re.findall(r"`([^`]*\*[^`]*)`", "".join(rows)), BUILT | PACKAGES)
    assert [pattern for pattern, names in found.items() if not names] == []
    assert set().union(*found.values()) == BUILT | PACKAGES


def test_each_script_of_the_workflow_exists() -> None:
    named = re.findall(r"\b(?:tools|requirements)/[\w.]+|\bContainerfile\b", WORKFLOW.read_text())
    assert {"tools/build_binary.py", "tools/build_packages.py", "Containerfile"} <= set(named)
    assert [name for name in named if not (ROOT / name).is_file()] == []


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
