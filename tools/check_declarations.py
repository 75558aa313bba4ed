"""Compare every declaration with the pinned kafka-clients jar; exit 1 and a diff when one is not what it says.

Run it as `python -m tools.check_declarations`.
"""

import difflib
import sys

from tools.declarations import API_FOLDER
from tools.write_declaration import expected_files


def differences() -> list[str]:
    """The lines of a unified diff from the files to what the jar says; empty when all agree."""
    lines: list[str] = []
    for name, expected in expected_files().items():
        path = API_FOLDER / name
        actual = path.read_text() if path.exists() else ""
        lines += difflib.unified_diff(
            actual.splitlines(), expected.splitlines(), f"{name} (file)", f"{name} (jar)", lineterm=""
        )
    return lines


def main() -> int:
    lines = differences()
    print("\n".join(lines) if lines else "every declaration agrees with the jar")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
