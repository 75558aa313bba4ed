"""Probe and trace files in an object store: what a URL stands for, and each file as it is read.

A URL of an object is that file; any other is a folder, which stands for the JSON files below it, since no shell expands
a pattern there. Credentials and endpoints are those of the process, as for `kctl pipeline export --to s3://...`.
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
    """An object; `store` has the folder that its key begins below."""

    store: ObjectStore
    found: StoredObject

    @property
    def url(self) -> str:
        return f"{self.store.url}/{self.found.key}"

    @property
    def place(self) -> PurePosixPath:
        """The path by which the file belongs to a place: bucket and key."""
        return PurePosixPath(self.url.partition("://")[2])

    def open(self) -> IO[bytes]:
        return self.store.open(self.found.key, self.found.size_bytes)


def stored_files(url: StoreUrl, properties: Mapping[str, object]) -> list[StoredFile]:
    """Return the files that a URL stands for.

    Args: properties: Kafka properties, for their timeouts.
    Raises: CommandError: there is none. StoreError, LakesMissingError: the store.
    """
    timeouts = StoreTimeouts.of(properties)
    folder, _, name = url.rpartition("/")
    if not folder.endswith("/"):  # otherwise the URL is a bucket alone
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
            raise CommandError(ExitCode.USAGE, f"{url}: more than {MOST_FILES} JSON files", "choose a directory below")
    if not found:
        raise CommandError(ExitCode.USAGE, f"{url}: no such object, and no folder with JSON files")
    return found
