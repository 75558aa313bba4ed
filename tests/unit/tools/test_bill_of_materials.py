import json
import sysconfig
from pathlib import Path

import pytest

from kctl.version import DISTRIBUTION, VERSION
from tools.bill_of_materials import Part, UnknownOriginError, bill_of, parts_of, write_licenses

WORD = Part("word", "1.0", "pkg:pypi/word@1.0", "MIT License", False, ())


@pytest.fixture
def packages(tmp_path: Path) -> Path:
    """Return a directory of packages with kctl and one more."""
    for name, version, license in ((DISTRIBUTION, VERSION, "Apache-2.0"), ("word", "1.0", "MIT OR Apache-2.0")):
        information = tmp_path / f"{name.replace('-', '_')}-{version}.dist-info"
        (information / "licenses").mkdir(parents=True)
        (tmp_path / f"{name}.py").touch()
        (information / "licenses/LICENSE").write_text(f"{license}\n")
        (information / "METADATA").write_text(
            f"Metadata-Version: 2.4\nName: {name}\nVersion: {version}\nLicense-Expression: {license}\n"
        )
        (information / "RECORD").write_text(f"{name}.py,,\n{information.name}/licenses/LICENSE,,\n")
    return tmp_path


def test_each_file_belongs_to_its_package_to_python_or_to_debian(packages: Path) -> None:
    standard = Path(sysconfig.get_path("stdlib"), "json", "__init__.py")
    library = next(Path("/usr/lib").glob("*-linux-gnu/libc.so.6"))
    parts = parts_of([packages / "word.py", packages / f"{DISTRIBUTION}.py", standard, library], packages)
    assert [part.name for part in parts] == ["libc6", "python", "word"]
    assert parts[0].purl.startswith("pkg:deb/debian/libc6@")
    assert parts[2][:5] == ("word", "1.0", "pkg:pypi/word@1.0", "MIT OR Apache-2.0", True)
    write_licenses(parts, packages / "licenses")
    assert (packages / "licenses/word/LICENSE").read_text() == "MIT OR Apache-2.0\n"


@pytest.mark.parametrize("place", ["packages", "checkout"])
def test_file_of_unknown_origin_is_an_error(
    place: str, packages: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = packages if place == "packages" else tmp_path_factory.mktemp("checkout")
    (folder / "other.py").touch()
    with pytest.raises(UnknownOriginError, match=r"other\.py belongs to no"):
        parts_of([folder / "other.py"], packages)


def test_license_is_an_identifier_an_expression_or_a_name() -> None:
    parts = [
        WORD,
        WORD._replace(name="b", purl="pkg:pypi/b@1.0", license="MIT OR ISC", is_expression=True),
        WORD._replace(name="c", purl="pkg:pypi/c@1.0", license="Dual License"),
    ]
    stated = {part["name"]: part["licenses"] for part in json.loads(bill_of(parts, "linux-x86_64", 0))["components"]}
    assert stated == {
        "word": [{"license": {"id": "MIT"}}],
        "b": [{"expression": "MIT OR ISC"}],
        "c": [{"license": {"name": "Dual License"}}],
    }


def test_bill_has_the_parts_of_the_own_bill_of_a_part_once(tmp_path: Path) -> None:
    crate = {"type": "library", "bom-ref": "x", "name": "serde", "version": "1.0.0", "purl": "pkg:cargo/serde@1.0.0"}
    (tmp_path / "own.json").write_text(json.dumps({"components": [crate]}))
    parts = [
        WORD._replace(bills=(tmp_path / "own.json",)),
        WORD._replace(name="b", purl="pkg:pypi/b@1.0", bills=(tmp_path / "own.json",)),
    ]
    bill = json.loads(bill_of(parts, "linux-x86_64", 86400))
    assert [part["bom-ref"] for part in bill["components"]] == [
        "pkg:cargo/serde@1.0.0",
        "pkg:pypi/b@1.0",
        "pkg:pypi/word@1.0",
    ]
    assert bill["metadata"]["timestamp"] == "1970-01-02T00:00:00Z"
