"""Marks: empty files or objects, each of which records that an import has produced one range."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

from kctl.pipeline.job_errors import folder_error
from kctl.pipeline.locations import StoreUrl
from kctl.posix import CLOEXEC, NOFOLLOW


class Marks(Protocol):
    """Marks of one import, which record the ranges that it has produced.

    Raises: FolderError, StoreError: from every method.
    """

    def prepare(self) -> None: ...

    def names(self) -> set[str]: ...

    def has(self, name: str) -> bool: ...

    def add(self, name: str) -> None:
        """Write a mark durably."""
        ...


def marks_in(place: Path | StoreUrl, properties: Mapping[str, object]) -> Marks:
    if isinstance(place, Path):
        return FolderMarks(place)
    return ObjectMarks(place, properties)


class FolderMarks:
    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def prepare(self) -> None:
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
        except OSError as e:
            raise folder_error(self._folder, e, "set another directory for the progress with: --progress") from e

    def names(self) -> set[str]:
        try:
            return {path.name for path in self._folder.iterdir()}
        except FileNotFoundError:
            return set()
        except OSError as e:
            raise folder_error(self._folder, e) from e

    def has(self, name: str) -> bool:
        return (self._folder / name).exists()

    def add(self, name: str) -> None:
        path = self._folder / name
        try:
            mark = os.open(path, os.O_WRONLY | os.O_CREAT | NOFOLLOW | CLOEXEC, 0o666)
            try:
                os.fsync(mark)
            finally:
                os.close(mark)
            folder = os.open(self._folder, os.O_RDONLY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)
        except OSError as e:
            raise folder_error(path, e) from e


class ObjectMarks:
    def __init__(self, url: StoreUrl, properties: Mapping[str, object]) -> None:
        from kctl.pipeline.object_store.store import ObjectStore, StoreTimeouts

        self._store = ObjectStore(url, StoreTimeouts.of(properties))

    def prepare(self) -> None:
        """Do nothing: a prefix needs no creation."""

    def names(self) -> set[str]:
        return {each.key for each in self._store.list()}

    def has(self, name: str) -> bool:
        try:
            self._store.head(name)
        except FileNotFoundError:
            return False
        return True

    def add(self, name: str) -> None:
        self._store.put(name, b"")
