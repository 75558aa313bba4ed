"""Writes completions/, man/ and tests/cli/help/ from the tree of commands and the catalogue of `kctl explain`.

And tests/unit/cli/texts.txt, every text that users see, from all modules.

python tools/write_manuals.py            # writes them
python tools/write_manuals.py --check    # exits with 1 when one is out of date, or is there without a command
"""

import sys
from pathlib import Path

from kctl.cli.completion.scripts import script
from kctl.cli.completion.shells import FILE_NAMES, Shell
from tools.manual.helps import all_helps
from tools.manual.pages import all_pages
from tools.manual.texts import all_texts

ROOT = Path(__file__).parents[1]


def all_files() -> dict[str, str]:
    """Return every file that is made, by its path in the project."""
    files = {f"completions/{shell.value}/{FILE_NAMES[shell]}": script(shell) for shell in Shell}
    files |= {f"tests/cli/help/{name}": text for name, text in all_helps().items()}
    files["tests/unit/cli/texts.txt"] = all_texts()
    return files | {f"man/{name}": text for name, text in all_pages().items()}


def main(arguments: list[str]) -> int:
    """Write the files, or with --check name those that are out of date."""
    wanted = all_files()
    there = [
        path
        for folder in ("completions", "man", "tests/cli/help")
        for path in (ROOT / folder).rglob("*")
        if path.is_file()
    ]
    left_over = sorted(name for path in there if (name := path.relative_to(ROOT).as_posix()) not in wanted)
    stale = [name for name, text in wanted.items() if _text_of(ROOT / name) != text]
    if "--check" in arguments:
        if stale or left_over:
            print(f"out of date: {', '.join([*stale, *left_over])}; run python tools/write_manuals.py")
        return 1 if stale or left_over else 0
    for name in left_over:
        (ROOT / name).unlink()
    for name in stale:
        (ROOT / name).parent.mkdir(parents=True, exist_ok=True)
        (ROOT / name).write_text(wanted[name], encoding="utf-8")
    return 0


def _text_of(path: Path) -> str | None:
    return path.read_text(encoding="utf-8") if path.exists() else None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
