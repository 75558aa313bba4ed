"""Writes requirements/constraints.txt, the versions that the tests run with, and requirements/release.txt, those of the
tools that build and check a release, with the hashes of all their files.

python tools/write_constraints.py            # writes both; needs pip-tools (pip-compile) and the package index
python tools/write_constraints.py --check    # exits with 1 if a requirement of pyproject.toml is missing in them
"""

import re
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parent.parent
FILE = ROOT / "requirements" / "constraints.txt"
RELEASE_FILE = FILE.with_name("release.txt")
EXTRAS = (
    "spark", "lakes", "aio", "otel", "keyring", "avro", "protobuf", "json-schema", "msgpack", "pkcs12", "aws", "jq",
    "sandbox",
)  # fmt: skip
"""Without kerberos, which compiles against the Kerberos of the machine."""
HEAD = (
    "# Written by tools/write_constraints.py: what `pip install --require-hashes -r` of this file installs is tested.\n"
)
COMPILE = (
    "pip-compile", "--quiet", "--generate-hashes", "--strip-extras", "--allow-unsafe", "--no-header", "--no-annotate",
    "--no-emit-index-url", "--no-emit-trusted-host", "--no-emit-find-links",
)  # fmt: skip
_ENTRY = re.compile(r"(?P<name>[A-Za-z0-9._-]+)==(?P<version>\S+)(?P<hashes>( \\\n    --hash=sha256:[0-9a-f]{64})+)")


def wanted_for_release() -> list[Requirement]:
    """Return the tools of a release."""
    groups = tomllib.loads((ROOT / "pyproject.toml").read_text())["dependency-groups"]
    return [Requirement(line) for line in groups["release"]]


def wanted() -> list[Requirement]:
    """Return the direct dependencies of kctl and of the extras that users install."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    lines = [*project["dependencies"], *(line for each in EXTRAS for line in project["optional-dependencies"][each])]
    return [Requirement(line) for line in lines]


def read(text: str) -> dict[str, str]:
    """Return the versions by canonical name.

    Raises: ValueError: a line is not a version with its hashes.
    """
    found: dict[str, str] = {}
    for block in re.split(r"\n(?=[A-Za-z])", text.removeprefix(HEAD).strip()):
        match = _ENTRY.fullmatch(block)
        if match is None:
            raise ValueError(f"not a version with hashes: {block.splitlines()[0]!r}")
        found[canonicalize_name(match["name"])] = match["version"]
    return found


def problems(versions: Mapping[str, str], requirements: Iterable[Requirement]) -> Iterator[str]:
    """Yield the requirements that are missing, or have a version that pyproject.toml does not allow."""
    for requirement in requirements:
        version = versions.get(canonicalize_name(requirement.name))
        if version is None:
            yield f"{requirement} is missing"
        elif not requirement.specifier.contains(version):
            yield f"{requirement}: {version} is pinned"


def _compiled(requirements: Iterable[Requirement]) -> str:
    with tempfile.TemporaryDirectory() as folder:
        asked = Path(folder, "requirements.in")
        asked.write_text("".join(f"{requirement}\n" for requirement in requirements))
        result = Path(folder, "constraints.txt")
        subprocess.run([*COMPILE, "--output-file", str(result), str(asked)], check=True)
        lines = result.read_text().splitlines(keepends=True)
        return HEAD + "".join(line for line in lines if line.strip() and not line.startswith("#"))


def main() -> int:
    """Write or check the files."""
    found = []
    for file, requirements in ((FILE, wanted()), (RELEASE_FILE, wanted_for_release())):
        if "--check" not in sys.argv[1:]:
            file.parent.mkdir(exist_ok=True)
            file.write_text(_compiled(requirements))
        found += [f"{file.relative_to(ROOT)}: {line}" for line in problems(read(file.read_text()), requirements)]
    print(*found, sep="\n", end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
