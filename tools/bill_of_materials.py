"""Parts of the binary: packages of Python, Python itself, and libraries of Debian, with version and license.

Each file that PyInstaller collects belongs to one part; a file of unknown origin is an error. The bill of materials has
the format CycloneDX 1.6.
"""

import json
import platform
import re
import subprocess
import sys
import sysconfig
import uuid
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from importlib.metadata import Distribution, distributions
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

from kctl.version import DISTRIBUTION, VERSION
from tools.channels import LICENSE

LOADER = "pyinstaller"
"""Package of the program that starts Python in the binary."""
_TEXTS = ("license", "licence", "copying", "notice", "authors", "copyright")
_NO_TEXT = (".py", ".pyc", ".so")
_SPDX = {
    "3-Clause BSD License": "BSD-3-Clause",
    "Apache Software License": "Apache-2.0",
    "ISC License (ISCL)": "ISC",
    "MIT License": "MIT",
    "Python Software Foundation License": "PSF-2.0",
    **{name: name for name in ("Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "ISC", "MIT")},
}
"""SPDX identifiers of licenses that packages state in other forms."""
_LOADER_LICENSE = "GPL-2.0-or-later WITH Bootloader-exception"
"""Allows programs of any license; the package has no expression of its own."""


class UnknownOriginError(Exception):
    """A file of the binary belongs to no known part."""


class Part(NamedTuple):
    """A part of the binary.

    Attributes:
        license: the license as the part states it: an SPDX expression if `is_expression`.
        texts: files with licenses and copyright.
        bills: bills of materials that the part has itself, such as those of compiled Rust crates.
    """

    name: str
    version: str
    purl: str
    license: str
    is_expression: bool
    texts: tuple[Path, ...]
    bills: tuple[Path, ...] = ()


def licence_of(found: Distribution) -> str:
    """Return the license as the package states it: expression, classifier, or text."""
    metadata = found.metadata.json
    if "license_expression" in metadata:
        return str(metadata["license_expression"])
    classifiers = [c.rpartition(" :: ")[2] for c in metadata.get("classifier", ()) if c.startswith("License ::")]
    stated = [c for c in classifiers if c != "OSI Approved"]
    return ", ".join(stated) or str(metadata.get("license") or "not stated").splitlines()[0]


def parts_of(sources: Iterable[Path], packages: Path) -> list[Part]:
    """Return the parts to which files belong, sorted by name, without kctl itself.

    Args:
        sources: files that are in the binary.
        packages: folder of the installed Python packages, `site-packages`.
    Raises: UnknownOriginError.
    """
    owners = {
        str(found.locate_file(file)): found
        for found in distributions(path=[str(packages)])
        for file in found.files or ()
    }
    of_python: dict[str, Distribution] = {}
    with_python, of_system = False, set()
    for source in sources:
        if (owner := owners.get(str(source))) is not None:
            of_python[owner.name] = owner
        elif _is_of_python(source):
            with_python = True
        elif source.is_relative_to(packages):
            raise UnknownOriginError(f"{source} belongs to no installed package")
        else:
            of_system.add(source)
    of_python.pop(DISTRIBUTION, None)
    parts = [_part_of_python(found) for found in of_python.values()]
    parts += [_python()] if with_python else []
    parts += _parts_of_system(of_system)
    return sorted(parts, key=lambda part: part.name.lower())


def _is_of_python(source: Path) -> bool:
    """Return whether a file comes with Python; on Debian, its prefix has the libraries of all packages too."""
    own = sysconfig.get_path("stdlib") if sys.platform.startswith("linux") else sys.base_prefix
    is_package = not {"site-packages", "dist-packages"}.isdisjoint(source.parts)
    return not is_package and (source.is_relative_to(own) or source.name.startswith("libpython"))


def _part_of_python(found: Distribution) -> Part:
    files = [Path(str(found.locate_file(file))) for file in found.files or ()]
    name = found.name.lower().replace("_", "-")
    return Part(
        name,
        found.version,
        f"pkg:pypi/{name}@{quote(found.version)}",
        _LOADER_LICENSE if name == LOADER else licence_of(found),
        name == LOADER or "license_expression" in found.metadata.json,
        tuple(sorted(path for path in files if path.name.lower().startswith(_TEXTS) and path.suffix not in _NO_TEXT)),
        tuple(sorted(path for path in files if path.parent.name == "sboms" and path.suffix == ".json")),
    )


def _python() -> Part:
    places = (Path(sysconfig.get_path("stdlib")), Path(sys.base_prefix))
    text = next((folder / "LICENSE.txt" for folder in places if (folder / "LICENSE.txt").is_file()), None)
    if text is None:
        raise UnknownOriginError(f"Python in {sys.base_prefix} has no license")
    version = platform.python_version()
    return Part("python", version, f"pkg:generic/python@{version}", "PSF-2.0", True, (text,))


def _parts_of_system(files: Iterable[Path]) -> list[Part]:
    found: dict[str, Part] = {}
    for path in files:
        if not sys.platform.startswith("linux"):
            found[path.name] = Part(path.name, platform.version(), "", "not stated", False, ())
            continue
        package = _debian_package(path)
        if package not in found:
            found[package] = _part_of_debian(package)
    return list(found.values())


def _debian_package(path: Path) -> str:
    merged = Path("/usr", *path.parts[1:]) if path.parts[1] != "usr" else Path("/", *path.parts[2:])
    for name in (path, merged, path.resolve()):
        done = subprocess.run(["dpkg-query", "--search", str(name)], capture_output=True, text=True, check=False)
        if done.returncode == 0:
            return done.stdout.partition(": ")[0].partition(":")[0]
    raise UnknownOriginError(f"{path} belongs to no package of Python or Debian")


def _part_of_debian(package: str) -> Part:
    shown = subprocess.run(
        ["dpkg-query", "--show", "--showformat", r"${Version}\t${Architecture}\n", package],
        capture_output=True,
        text=True,
        check=True,
    )
    version, architecture = shown.stdout.splitlines()[0].split("\t")
    text = Path("/usr/share/doc", package, "copyright")
    if not text.is_file():
        raise UnknownOriginError(f"Debian package {package} has no {text}")
    named = re.findall(r"^License: *(\S.*)$", text.read_text(), re.MULTILINE)
    license = ", ".join(sorted(set(named))) or f"licenses/{package}/copyright"
    purl = f"pkg:deb/debian/{package}@{quote(version)}?arch={architecture}"
    return Part(package, version, purl, license, False, (text.resolve(),))


def write_licenses(parts: Iterable[Part], folder: Path) -> None:
    """Write the license texts and own bills of each part into a directory with the name of the part."""
    for part in parts:
        for file in (*part.texts, *part.bills):
            target = folder / part.name / file.name
            if target.exists():
                target = target.with_name(f"{file.parent.name}-{file.name}")
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(file.read_bytes())


def bill_of(parts: Iterable[Part], platform_name: str, epoch: int) -> str:
    """Return the bill of materials of the binary for a platform, built at `epoch` (seconds since 1970)."""
    purl = f"pkg:pypi/{DISTRIBUTION}@{VERSION}"
    components = [component for part in parts for component in (_component(part), *_inner(part))]
    references = sorted({component["bom-ref"] for component in components})
    own = {"type": "application", "bom-ref": purl, "name": "kctl", "version": VERSION, "purl": purl}
    bill = {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, f'{purl}?platform={platform_name}&epoch={epoch}')}",
        "version": 1,
        "metadata": {
            "timestamp": datetime.fromtimestamp(epoch, UTC).isoformat().replace("+00:00", "Z"),
            "component": {**own, "licenses": [{"license": {"id": LICENSE}}]},
        },
        "components": sorted({each["bom-ref"]: each for each in components}.values(), key=lambda each: each["bom-ref"]),
        "dependencies": [{"ref": purl, "dependsOn": references}],
    }
    return json.dumps(bill, indent=2, ensure_ascii=False) + "\n"


def _component(part: Part) -> dict[str, Any]:
    if part.is_expression:
        stated: dict[str, Any] = {"expression": part.license}
    elif part.license in _SPDX:
        stated = {"license": {"id": _SPDX[part.license]}}
    else:
        stated = {"license": {"name": part.license}}
    address = {"purl": part.purl} if part.purl else {}
    return {
        "type": "library",
        "bom-ref": part.purl or part.name,
        "name": part.name,
        "version": part.version,
        **address,
        "licenses": [stated],
    }


def _inner(part: Part) -> Iterable[Mapping[str, Any]]:
    """Yield the components of a part's own bills."""
    for file in part.bills:
        for each in json.loads(file.read_text()).get("components", ()):
            kept = {name: each[name] for name in ("type", "name", "version", "purl", "licenses") if name in each}
            yield {**kept, "bom-ref": each.get("purl") or f"{part.name}/{each['name']}@{each.get('version', '')}"}
