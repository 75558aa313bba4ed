"""The bill of materials: each part of the binary with a version, a license, and the text of the license."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from kctl.version import VERSION
from tests.binary.conftest import MINUTES_S, Binary
from tests.support.release_tools import release_tool
from tools.channels import Archive

EXPECTED = {
    "cryptography",
    "fastavro",
    "google-re2",
    "jq",
    "jsonschema-rs",
    "libssl3",
    "pyinstaller",
    "python",
    "typer",
}
"""Some of the parts: packages with and without compiled code, Python, its loader, and a library of Debian."""
OWN_PARTS = ("pkg:pypi/", "pkg:deb/", "pkg:generic/python")
"""Other parts are inside of these, as their own bills say."""
WITHOUT_TEXT = {"jsonschema-rs"}
"""Packages that state a license and have no text of it."""
VALIDATOR = """
import sys
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
error = JsonStrictValidator(SchemaVersion.V1_6).validate_str(sys.stdin.read())
sys.exit(None if error is None else str(error))
"""


@pytest.fixture(scope="module")
def text(built: Path, target: Archive) -> str:
    return (built / target.bill).read_text()


@pytest.fixture(scope="module")
def bill(text: str) -> Any:
    return json.loads(text)


def test_bill_has_the_format_of_cyclonedx(text: str) -> None:
    command = [release_tool("python"), "-c", VALIDATOR]
    done = subprocess.run(command, input=text, capture_output=True, text=True, timeout=MINUTES_S, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_each_part_has_version_and_license(bill: Any) -> None:
    assert bill["metadata"]["component"]["version"] == VERSION
    parts = {part["name"]: part for part in bill["components"]}
    assert parts.keys() >= EXPECTED
    for part in parts.values():
        assert part["version"]
        assert part.get("purl", "").startswith("pkg:"), part


def test_each_part_of_its_own_has_a_known_license_and_its_text(bill: Any, built: Path) -> None:
    folder = built / "made/kctl/licenses"
    for part in (part for part in bill["components"] if part["purl"].startswith(OWN_PARTS)):
        [stated] = part["licenses"]
        name = stated.get("expression") or stated["license"].get("id") or stated["license"]["name"]
        assert name != "not stated", part
        texts = [path for path in (folder / part["name"]).iterdir() if path.suffix != ".json"]
        assert bool(texts) != (part["name"] in WITHOUT_TEXT), part


def test_each_form_has_the_bill(text: str, built: Path, debian: Binary) -> None:
    assert (built / "made/kctl/sbom.json").read_text() == text
    assert (debian.root / "usr/share/doc/kctl/sbom.json").read_text() == text
