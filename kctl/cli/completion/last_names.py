"""Cache of names from a cluster, in private files.

File names are digests of the options and settings that select the cluster, without passwords.
"""

import hashlib
import os
import re
import stat
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from kctl.cli.private_file import write_private
from kctl.cli.profiles.locations import project_file, user_file
from kctl.grammar.user_folders import cache_folder
from kctl.posix import BINARY, CLOEXEC, HAS_USERS, NOFOLLOW, NONBLOCK, is_owned, lock

FRESH_MS = 10_000
"""Age below which names are offered without a request."""
LONGEST_MS = 86_400_000
"""Age from which names are not offered."""
MOST_BYTES = 8 * 1024 * 1024
_OWN_NAME = re.compile(r"[0-9a-f]{32}(\.\d+|\.lock)?")
_SECRET = ("jaas", "password", "secret", "token", "key", "registry")
"""Parts of property and variable names whose values are excluded from the digest. Registries have no names."""


class LastNames:
    """Cache file for one kind of names, such as topics, in one cluster."""

    def __init__(self, kind: str, given: Mapping[str, Sequence[str]], environ: Mapping[str, str]) -> None:
        """Args: given: options that select the cluster, by long name."""
        self._path = _path(kind, given, environ)

    def read(self, wall_ms: int) -> tuple[bytes, int]:
        """Return the names, one per line, and their age in ms. If there is no valid file, return b"" and LONGEST_MS."""
        if self._path is None:
            return b"", LONGEST_MS
        try:
            descriptor = os.open(self._path, os.O_RDONLY | BINARY | NOFOLLOW | NONBLOCK | CLOEXEC)
            with open(descriptor, "rb") as file:
                found = os.fstat(descriptor)
                is_own = stat.S_ISREG(found.st_mode) and is_owned(found)
                age_ms = wall_ms - int(found.st_mtime * 1000)
                if not is_own or found.st_size > MOST_BYTES or not 0 <= age_ms < LONGEST_MS:
                    return b"", LONGEST_MS
                return file.read(MOST_BYTES), age_ms
        except OSError:
            return b"", LONGEST_MS

    def write(self, names: str) -> None:
        """Replace the names atomically. Errors are ignored."""
        if self._path is None or len(names) > MOST_BYTES:
            return
        part = self._path.with_suffix(f".{os.getpid()}")
        with suppress(OSError):
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            write_private(part, names)
            part.replace(self._path)
            self._delete_old()

    def wait_for_others(self) -> bool:
        """Lock the file until this process and its forks exit. Return whether another process had the lock before."""
        if self._path is None:
            return False
        try:
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            flags = os.O_RDWR | os.O_CREAT | NOFOLLOW | CLOEXEC
            descriptor = os.open(self._path.with_suffix(".lock"), flags, 0o600)
            try:
                lock(descriptor)
            except BlockingIOError:
                lock(descriptor, waits=True)
                return True
        except OSError:  # the directory is not writable: no cache
            pass
        return False

    def _delete_old(self) -> None:
        """Delete expired cache files of all clusters."""
        assert self._path is not None
        oldest_s = self._path.stat().st_mtime - LONGEST_MS / 1000
        for each in self._path.parent.iterdir():
            if _OWN_NAME.fullmatch(each.name) and each.lstat().st_mtime < oldest_s:
                each.unlink(missing_ok=True)


def _path(kind: str, given: Mapping[str, Sequence[str]], environ: Mapping[str, str]) -> Path | None:
    folder = cache_folder(environ, "names")
    if folder is None or not HAS_USERS:
        return None
    facts = repr([kind, *_facts(given, environ)]).encode("utf-8", "surrogateescape")
    return folder / hashlib.sha256(facts).hexdigest()[:32]


def _facts(given: Mapping[str, Sequence[str]], environ: Mapping[str, str]) -> Iterator[object]:
    """Yield the options, variables, and modification times of property files that select the cluster."""
    for option, values in sorted(given.items()):
        yield option, [value for value in values if option != "-X" or not _is_secret(value)]
    for name, value in sorted(environ.items()):
        if name.startswith("KCTL_") and not _is_secret(name):
            yield name, value
    for path in (user_file(environ), project_file(Path.cwd()), *map(Path, given.get("--command-config", ()))):
        yield None if path is None or not path.exists() else (str(path), path.stat().st_mtime_ns)


def _is_secret(text: str) -> bool:
    name = text.partition("=")[0].lower()
    return any(word in name for word in _SECRET)
