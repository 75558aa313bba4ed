"""Probe and trace files in object stores.

A URL is one object, or a directory with JSON files, because shells do not expand patterns in URLs.
"""

from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import IO, NamedTuple

from kctl.cli.exit_codes import ExitCode
from kctl.cli.failures import CommandError
from kctl.pipeline.locations import StoreUrl
from kctl.pipeline.object_store.store import ObjectStore, StoredObject, StoreTimeouts

MOST_FILES = 100_000
ENDINGS = (".json", ".jsonl", ".json.gz", ".jsonl.gz")


class StoredFile(NamedTuple):
    """File in an object store. Its key is relative to the directory of `store`."""

    store: ObjectStore
    found: StoredObject

    @property
    def url(self) -> str:
        return f"{self.store.url}/{self.found.key}"

    @property
    def place(self) -> PurePosixPath:
        """Return bucket and key as a path, for grouping by directory."""
        return PurePosixPath(self.url.partition("://")[2])

    def open(self) -> IO[bytes]:
        return self.store.open(self.found.key, self.found.size_bytes)


def stored_files(url: StoreUrl, properties: Mapping[str, object]) -> list[StoredFile]:
    """Return the files of a URL.

    Args: properties: Kafka properties, whose timeouts apply.
    Raises:
        CommandError: there are no files, or too many.
        StoreError: the object store failed.
        LakesMissingError: a package is not installed.
    """
    timeouts = StoreTimeouts.of(properties)
    folder, _, name = url.rpartition("/")
    if not folder.endswith("/"):  # otherwise the URL is only a bucket
        store = ObjectStore(StoreUrl(folder), timeouts)
        try:
            return [StoredFile(store, store.head(name))]
        except FileNotFoundError:
            pass
    store = ObjectStore(url, timeouts)
    found = []
    for each in store.list():
        if each.key.endswith(ENDINGS):
            found.append(StoredFile(store, each))
        if len(found) > MOST_FILES:
            raise CommandError(
                ExitCode.USAGE,
                f"cannot read {url}: the directory has more than {MOST_FILES} JSON files",
                "choose a subdirectory",
            )
    if not found:
        raise CommandError(ExitCode.USAGE, f"cannot read {url}: no object or directory with JSON files found")
    return found
