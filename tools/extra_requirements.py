"""Print the requirements of extras of this project, one a line, without kctl itself.

python tools/extra_requirements.py dev,kerberos    # for pip, if kctl is installed and need not be built again
"""

import re
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def requirements(extras: Sequence[str], optional: Mapping[str, Sequence[str]], name: str) -> Iterator[str]:
    """Yield the requirements of `extras`; a requirement of the project itself stands for its extras."""
    for extra in extras:
        for line in optional[extra]:
            of_project = re.fullmatch(rf"{re.escape(name)}\[(.+)\]", line)
            if of_project is None:
                yield line.replace(" ", "")
            else:
                yield from requirements(of_project[1].split(","), optional, name)


def main(extras: str) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    print(*requirements(extras.split(","), project["optional-dependencies"], project["name"]), sep="\n")


if __name__ == "__main__":
    main(sys.argv[1])
