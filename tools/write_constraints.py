"""Writes requirements/constraints.txt: the versions that the tests run with, with the hashes of all their files.

python tools/write_constraints.py            # writes it; needs pip-tools (pip-compile) and the package index
python tools/write_constraints.py --check    # exits with 1 where it does not cover what pyproject.toml asks for
"""

import re
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parent.parent
FILE = ROOT / "requirements" / "constraints.txt"
EXTRAS = (
    "spark", "lakes", "aio", "keyring", "avro", "protobuf", "json-schema", "msgpack", "pkcs12", "aws", "jq", "sandbox"
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


def problems(versions: Mapping[str, str]) -> Iterator[str]:
    """Yield what of the direct dependencies is missing, or has a version that pyproject.toml does not allow."""
    for requirement in wanted():
        version = versions.get(canonicalize_name(requirement.name))
        if version is None:
            yield f"{requirement} is missing"
        elif not requirement.specifier.contains(version):
            yield f"{requirement}: {version} is pinned"


def _compiled() -> str:
    with tempfile.TemporaryDirectory() as folder:
        asked = Path(folder, "requirements.in")
        asked.write_text("".join(f"{requirement}\n" for requirement in wanted()))
        result = Path(folder, "constraints.txt")
        subprocess.run([*COMPILE, "--output-file", str(result), str(asked)], check=True)
        return HEAD + result.read_text()


def main() -> int:
    """Write or check the file."""
    if "--check" not in sys.argv[1:]:
        FILE.parent.mkdir(exist_ok=True)
        FILE.write_text(_compiled())
    found = list(problems(read(FILE.read_text())))
    for line in found:
        print(f"{FILE.relative_to(ROOT)}: {line}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
