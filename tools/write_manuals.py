"""Writes completions/, man/ and tests/cli/help/ from the tree of commands and the catalogue of `kctl explain`.

If texts of users differ from the last commit, tests and pages that still have their former words are printed.
completions/ has what packages install. `kctl completion SHELL` makes the script of any shell when it runs.

python tools/write_manuals.py            # writes them
python tools/write_manuals.py --check    # exits with 1 if one is out of date, or is there without a command
"""

import subprocess
import sys
from collections.abc import Container
from pathlib import Path

from kctl.cli.completion.scripts import script
from kctl.cli.completion.shells import FILE_NAMES, Shell
from tools.manual.gone_words import left_over
from tools.manual.helps import all_helps
from tools.manual.pages import all_pages
from tools.manual.texts import FOLDERS, all_texts, texts_of

ROOT = Path(__file__).parents[1]

FISH_LOADER = """\
# kctl completion for fish. Made by tools/write_manuals.py; do not edit. Loads the script at the first Tab of a session.
type -q kctl; and kctl completion fish | source
"""


def all_files() -> dict[str, str]:
    """Return every file that is made, by its path in the project."""
    files = {f"completions/{shell.value}/{FILE_NAMES[shell]}": script(shell) for shell in (Shell.BASH, Shell.ZSH)}
    files[f"completions/fish/{FILE_NAMES[Shell.FISH]}"] = FISH_LOADER
    files |= {f"tests/cli/help/{name}": text for name, text in all_helps().items()}
    return files | {f"man/{name}": text for name, text in all_pages().items()}


def main(arguments: list[str]) -> int:
    """Write the files, or with --check list those that are out of date."""
    wanted = all_files()
    there = [
        path
        for folder in ("completions", "man", "tests/cli/help")
        for path in (ROOT / folder).rglob("*")
        if path.is_file()
    ]
    orphans = sorted(name for path in there if (name := path.relative_to(ROOT).as_posix()) not in wanted)
    stale = [name for name, text in wanted.items() if _text_of(ROOT / name) != text]
    if "--check" in arguments:
        if stale or orphans:
            print(f"out of date: {', '.join([*stale, *orphans])}; run python tools/write_manuals.py")
        return 1 if stale or orphans else 0
    for name in orphans:
        (ROOT / name).unlink()
    for place in _former_words(wanted):
        print(f"former words are left in {place}")
    for name in stale:
        (ROOT / name).parent.mkdir(parents=True, exist_ok=True)
        (ROOT / name).write_text(wanted[name], encoding="utf-8")
    return 0


def _former_words(made: Container[str]) -> list[str]:
    """Return where texts that are changed since the last commit are quoted as before."""
    changed = _git("diff", "--name-only", "HEAD", "--", *FOLDERS).splitlines()
    before = [text for name in changed if name.endswith(".py") for text in texts_of(_git("show", f"HEAD:{name}"))]
    if not before:
        return []
    return left_over(before, [text for texts in all_texts().values() for text in texts], _quoting(made))


def _git(*arguments: str) -> str:
    """Return the output of git; nothing outside of a clone, or for a file that is new."""
    return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False).stdout


def _quoting(made: Container[str]) -> dict[str, str]:
    """Return the contents of tests and pages that are written by hand, by their paths."""
    paths = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md"), *(ROOT / "tests").rglob("*.py")]
    names = {path.relative_to(ROOT).as_posix(): path for path in paths}
    return {name: path.read_text(encoding="utf-8") for name, path in names.items() if name not in made}


def _text_of(path: Path) -> str | None:
    return path.read_text(encoding="utf-8") if path.exists() else None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
