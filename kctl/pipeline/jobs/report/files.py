"""Which files a report reads, and of which place each tells. Shown by tests/unit/pipeline/report/test_files.py."""

import os
import re
import stat
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from kctl.client.errors import ConfigError

ENDINGS = (".jsonl", ".json", ".jsonl.gz", ".json.gz")
NO_PLACE = "(no place)"
TASK_BYTES = 64 * 1024 * 1024
_LONGEST_PLACE = 200


class SourceFile(NamedTuple):
    """A file to read."""

    path: str
    place: str
    size_bytes: int


def find_files(paths: Sequence[Path], place: re.Pattern[str] | None = None) -> list[SourceFile]:
    """Return the files that are meant, in the order of their names.

    Args:
        paths: files, and folders of which all files that end as probe and trace files do are taken, at any depth.
        place: finds the place in the path: its first group, or all that it matches. Without it a file is of the place
            named by the first folder under the one that was given, or by its own name if it lies in no such folder.
    Raises: ConfigError: a path is not there, or nothing is.
    """
    found: dict[str, SourceFile] = {}
    for path in paths:
        for file, default in _files(path):
            name = str(file)
            found[name] = SourceFile(name, _place(name, default, place), _size(file))
    if not found:
        what = ", ".join(str(path) for path in paths)
        raise ConfigError(f"{what}: no file there ends with {', '.join(ENDINGS)}")
    return [found[name] for name in sorted(found)]


def group_files(files: Iterable[SourceFile], task_bytes: int = TASK_BYTES) -> list[list[SourceFile]]:
    """Return the files in groups of about that size, for tasks; a file is never cut."""
    groups: list[list[SourceFile]] = []
    size_bytes = task_bytes
    for file in files:
        if size_bytes + file.size_bytes > task_bytes:
            groups.append([])
            size_bytes = 0
        groups[-1].append(file)
        size_bytes += file.size_bytes
    return groups


def _files(path: Path) -> Iterator[tuple[Path, str]]:
    if path.is_dir():
        for folder, folders, names in os.walk(path):
            folders[:] = sorted(name for name in folders if not name.startswith("."))
            inner = Path(folder).relative_to(path).parts
            for name in sorted(names):
                if name.endswith(ENDINGS) and not name.startswith(".") and _may_be_read(Path(folder, name)):
                    yield Path(folder, name), inner[0] if inner else _stem(name)
    elif path.exists():
        yield path, _stem(path.name)
    else:
        raise ConfigError(f"{path}: no such file or folder")


def _may_be_read(path: Path) -> bool:
    """Whether it can be opened without waiting: a named pipe, say, is read only where it was given by its name."""
    try:
        return stat.S_ISREG(path.stat().st_mode)
    except OSError:  # reading it will tell why
        return True


def _stem(name: str) -> str:
    ending = next((each for each in sorted(ENDINGS, key=len, reverse=True) if name.endswith(each)), "")
    return name.removesuffix(ending) or name


def _place(path: str, default: str, pattern: re.Pattern[str] | None) -> str:
    if pattern is None:
        return default[:_LONGEST_PLACE]
    match = pattern.search(path)
    if match is None:
        return NO_PLACE
    return (match.group(1 if pattern.groups else 0) or NO_PLACE)[:_LONGEST_PLACE]


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:  # reading it will tell why
        return 0
