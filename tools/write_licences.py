"""Write docs/licences.md: what is installed along with kctl, and under which licence.

    python tools/write_licences.py [--check]

Follows the requirements of the installed package, as pip would. A licence that is not on the list of permissive ones
ends it with 1: it has to be looked at by somebody.
"""

import argparse
import re
import sys
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from packaging.requirements import Requirement

from kctl.version import DISTRIBUTION
from tools.bill_of_materials import licence_of

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "licences.md"
PERMISSIVE = ("Apache", "BSD", "MIT", "ISC", "PSF", "Python Software Foundation")
HEAD = """# Licences
kctl is under Apache-2.0. This is what installing kctl brings along, made from the packages' own metadata by
`tools/write_licences.py`.

| package | licence | asked for by |
|---|---|---|
"""


def closure() -> dict[str, list[str]]:
    """Return the distributions that kctl needs at run time, and who asks for each."""
    found: dict[str, list[str]] = {}
    waiting = [DISTRIBUTION]
    while waiting:
        asking = waiting.pop(0)
        for text in distribution(asking).requires or []:
            needed = Requirement(text)
            if needed.marker is not None and not needed.marker.evaluate({"extra": ""}):
                continue
            name = re.sub(r"[-_.]+", "-", needed.name).lower()
            if name not in found:
                found[name] = []
                waiting.append(name)
            found[name].append(asking)
    return found


def page() -> str:
    """Return the page.

    Raises: ValueError: a licence is not known to be permissive.
    """
    rows = []
    for name, asking in sorted(closure().items()):
        licence = licence_of(distribution(name))
        if not any(word in licence for word in PERMISSIVE):
            raise ValueError(f"{name}: licence {licence!r} is not one of {', '.join(PERMISSIVE)}")
        rows.append(f"| {name} | {licence} | {', '.join(sorted(asking))} |\n")
    return HEAD + "".join(rows)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--check", action="store_true")
    arguments = parser.parse_args()
    try:
        text = page()
    except (ValueError, PackageNotFoundError) as e:
        print(f"write_licences: {e}")
        return 1
    if not arguments.check:
        PAGE.write_text(text)
    elif PAGE.read_text() != text:
        print(f"{PAGE.relative_to(ROOT)} is not up to date: run python tools/write_licences.py")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
