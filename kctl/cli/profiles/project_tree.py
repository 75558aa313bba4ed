"""Files of a project: the files in git's index, or all files below the directory.

kctl does not execute git, because its configuration in an untrusted project can execute programs.
"""

import os
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from kctl.client.config import open_regular

MOST_FILES = 5_000
MOST_BYTES = 64 * 1024 * 1024
"""Maximum size of the files that each command reads to detect changes."""
_SKIPPED = frozenset({".git", ".hg", ".svn", "__pycache__"})
_ENTRY: Final = struct.Struct(">40x20xH")
"""Times, mode and size; hash; flags with the length of the name."""
_EXTENDED = 0x4000


def root_of(folder: Path) -> Path:
    """Return the root of the git working tree that contains `folder`, otherwise `folder`."""
    return next((each for each in (folder, *folder.parents) if (each / ".git").exists()), folder)


def tree_files(root: Path) -> list[Path] | None:
    """Return the files of a project, or None if there are too many or they are too large."""
    found: list[Path] = []
    size = 0
    for path in _tracked(root) or _below(root):
        try:
            size += path.lstat().st_size
        except OSError:
            continue
        found.append(path)
        if len(found) > MOST_FILES or size > MOST_BYTES:
            return None
    return sorted(found)


def _below(root: Path) -> Iterator[Path]:
    for folder, folders, files in os.walk(root):
        folders[:] = [name for name in folders if name not in _SKIPPED]
        yield from (Path(folder, name) for name in files)


def _tracked(root: Path) -> list[Path]:
    git = root / ".git"
    try:
        if git.is_file():  # linked working tree
            git = root / git.read_text().removeprefix("gitdir:").strip()
        with open_regular(git / "index") as file:
            data = file.read(MOST_BYTES)
        return [root / os.fsdecode(name) for name in index_names(data) if b"\0" not in name]
    except (OSError, ValueError, struct.error, IndexError):
        return []


def index_names(data: bytes) -> Iterator[bytes]:
    """Yield the names in a git index of version 2 to 4.

    Raises: ValueError, struct.error, IndexError: the index is invalid.
    """
    magic, version, count = struct.unpack_from(">4sII", data)
    if magic != b"DIRC" or version not in (2, 3, 4):
        raise ValueError("not a Git index file")
    at, name = 12, b""
    for _ in range(count):
        start = at
        (flags,) = _ENTRY.unpack_from(data, at)
        at += _ENTRY.size + (2 if flags & _EXTENDED else 0)
        kept = 0
        if version == 4:  # names share a prefix with the previous name
            stripped, at = _offset(data, at)
            kept = max(0, len(name) - stripped)
        end = data.index(b"\0", at)
        name = name[:kept] + data[at:end]
        at = end + 1 if version == 4 else start + (end - start + 8) // 8 * 8
        yield name


def _offset(data: bytes, at: int) -> tuple[int, int]:
    value = data[at] & 127
    while data[at] & 128:
        at += 1
        value = (value + 1) << 7 | data[at] & 127
    return value, at + 1
