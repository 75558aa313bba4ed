"""Export in an object store, with commits of rounds that need neither rename nor locks.

    s3://bucket/kafka/orders/orders-0-0-1000.3f9ac2....parquet   of a finished round: offsets and attempt in the name
    s3://bucket/kafka/orders/.orders-0-1000-2000.91c0...parquet  complete, of a round without a manifest
    s3://bucket/kafka/_manifest/00000017.json                    as in a directory, see `export_files.manifests`

A conditional put of the next manifest commits a round, so only one of two parallel runs succeeds. Merging frees the
numbers of manifests, so each put is followed by a listing, and the run fails if a merged manifest has its number.

Tasks put objects under hidden names. After the commit, objects are copied to their final names and the hidden ones are
deleted. If a run is killed before, kctl finds both names, and the next run completes this. Hidden objects without a
manifest are deleted when they are older than `ORPHAN_AGE_MS` by the store's clock, so a round that takes longer than
half of this time is not committed.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from kctl.client.clock import SystemClock
from kctl.pipeline.export_files.cluster_facts import NO_FACTS, ClusterFacts
from kctl.pipeline.export_files.decoded_schemas import DecodedSchemas
from kctl.pipeline.export_files.folder import FORMATS
from kctl.pipeline.export_files.manifests import (
    MANIFESTS,
    ExportedRange,
    Listing,
    Manifest,
    ManifestFile,
    TargetFacts,
    check_settings,
    chosen,
    continued,
    due_for_merge,
    facts_of,
    manifest_name,
    manifest_text,
    merged_manifest,
    named,
    parse_manifest,
    paths_in,
    resume_points,
    settled,
    unnamed_files,
)
from kctl.pipeline.job_errors import FolderError
from kctl.pipeline.locations import StoreUrl
from kctl.pipeline.object_store.store import ObjectStore, StoredObject, StoreTimeouts, hidden_key, shown_key
from kctl.pipeline.resume_point import ResumePoint

if TYPE_CHECKING:
    from kctl.pipeline.decoding.record_decoding import DecodedTypes
    from kctl.pipeline.targets import FileKind, RoundPlace

Item = TypeVar("Item")
Result = TypeVar("Result")
ORPHAN_AGE_MS = 24 * 60 * 60 * 1000
AT_ONCE = 16
"""Maximum number of parallel copies and reads of small objects."""
CLOCK = "_tmp/clock"
_FILE_NAME = re.compile(r"\.?.+-\d+-\d+-\d+(\.\d+)?\.[0-9a-f]{32}(" + "|".join(map(re.escape, FORMATS.values())) + ")")


def find_object(store: ObjectStore, key: str) -> StoredObject:
    """Return an object of a manifest, which may still have its hidden name.

    Raises: FileNotFoundError: neither name exists. StoreError.
    """
    for name in (key, hidden_key(key)):
        try:
            return store.head(name)
        except FileNotFoundError:
            continue
    return store.head(key)  # copied after the first check, and its hidden name deleted before the second


def list_object_manifests(store: ObjectStore) -> Listing:
    """Return the existing manifests.

    Raises: ExportDataError: a manifest is missing. StoreError.
    """

    def look() -> Listing:
        objects = [each for each in store.list(MANIFESTS) if each.key.endswith(".json")]
        return chosen((named(Path(each.key), each.size_bytes) for each in objects), f"{store.url}/{MANIFESTS}")

    return settled(look)


def read_object_manifests(store: ObjectStore) -> list[Manifest]:
    def look() -> list[Manifest]:
        files = list_object_manifests(store).files
        return _at_once(lambda file: parse_manifest(store.read(file.path.as_posix()), file), files)

    found = settled(look)
    resume_points(found)
    return found


class ObjectExport:
    def __init__(self, url: StoreUrl, timeouts: StoreTimeouts) -> None:
        self.last_number = 0
        self._store = ObjectStore(url, timeouts)
        self._timeouts = timeouts
        self._clock = SystemClock()
        self._points: dict[tuple[str, int], ResumePoint] = {}
        self._files: list[ManifestFile] = []
        self._run_id = ""
        self._round_began_ms = 0
        self._schemas = DecodedSchemas(url)

    def read(self) -> list[Manifest]:
        manifests = read_object_manifests(self._store)
        self._schemas.read(manifests)
        self._points = resume_points(manifests)
        self.last_number = manifests[-1].number if manifests else 0
        return manifests

    def read_facts(self) -> TargetFacts:
        return facts_of(self.read())

    def check(self, settings: Mapping[str, str]) -> None:
        self._check_named(self._checked(settings))

    def claim(
        self,
        run_id: str,
        settings: Mapping[str, str],
        *,
        takes_over: bool = True,  # noqa: ARG002 - an active run keeps its objects in any case
    ) -> None:
        """Read the manifests, complete the last round of an earlier run, and delete old objects without a manifest."""
        manifests = self._checked(settings)
        self._run_id = run_id
        self._settle_objects(manifests)
        listing = list_object_manifests(self._store)
        self._store.delete(*(path.as_posix() for path in listing.superfluous))
        self._files = listing.files
        self._merge()

    def resume_points(
        self,
        wanted: Iterable[tuple[str, int]] = (),  # noqa: ARG002 - all are known
    ) -> dict[tuple[str, int], ResumePoint]:
        return dict(self._points)

    def fit(self, decoded: "Mapping[str, DecodedTypes]") -> "Mapping[str, DecodedTypes]":
        return self._schemas.fit(decoded)

    def begin(self, number: int, kind: "FileKind") -> "RoundPlace":  # noqa: ARG002 - names come from content
        from kctl.pipeline.object_store.object_files import ObjectPlace

        self._round_began_ms = self._clock.now_ms()
        return ObjectPlace(self._store.url, self._timeouts, kind, self._run_id)

    def commit(
        self,
        ranges: Sequence[ExportedRange],
        settings: Mapping[str, str],
        facts: ClusterFacts = NO_FACTS,
        ended: "Sequence[RoundPlace] | None" = None,  # noqa: ARG002 - attempts never reuse names
    ) -> Manifest:
        """Add ranges to the export, either all of them or none, by one conditional put.

        Raises:
            FolderError: another run has committed a round, or the round took too long.
            StoreError: the outcome is unknown. The next run detects it.
        """
        if self._clock.now_ms() - self._round_began_ms > ORPHAN_AGE_MS // 2:
            raise FolderError(
                f"{self._store.url}: a round took more than {ORPHAN_AGE_MS // 7_200_000} hours, and another run may "
                f"have deleted its objects",
                "run the command again with a smaller --range-size. The round was discarded",
            )
        number = self.last_number + 1
        settings, schemas = {**settings, "run": self._run_id}, self._schemas.changes(ranges)
        manifest = Manifest(number, settings, tuple(ranges), number, facts, schemas)
        self._files.append(self._put(manifest))
        files = list_object_manifests(self._store).files
        if files[-1].number != number or files[-1].first != number:
            raise self._taken()  # the number was free because its manifest was merged
        self.last_number = number
        self._schemas.keep(schemas)
        for each in ranges:
            key = each.topic, each.partition
            self._points[key] = continued(self._points.get(key), each)
        self._show([file.path for each in ranges for file in each.files])
        self._merge()
        return manifest

    def leave(self) -> None:
        """Do nothing, because objects without a manifest are deleted by age."""

    def _checked(self, settings: Mapping[str, str]) -> list[Manifest]:
        manifests = self.read()
        if manifests:
            check_settings(manifests[0], settings, str(self._store.url), "prefix")
        else:
            for each in self._store.list():
                if not (each.key.startswith("_tmp/") or _is_hidden(each.key)):
                    raise FolderError(
                        f"{self._store.url} is not empty and is not an export", "choose a prefix without objects"
                    )
        return manifests

    def _put(self, manifest: Manifest) -> ManifestFile:
        content = manifest_text(manifest).encode()
        name = f"{MANIFESTS}/{manifest_name(manifest.first, manifest.number)}"
        try:
            self._store.create(name, content)
        except FileExistsError:
            raise self._taken() from None
        return ManifestFile(Path(name), manifest.first, manifest.number, len(content))

    def _check_named(self, manifests: Iterable[Manifest]) -> list[StoredObject]:
        found = [each for each in self._store.list() if _FILE_NAME.fullmatch(each.key.rpartition("/")[2])]
        hidden = [each for each in found if _is_hidden(each.key)]
        shown = {each.key for each in found} - {each.key for each in hidden}
        if not shown <= paths_in(manifests):  # an active run may have just finished a round
            later = paths_in(read_object_manifests(self._store))
            if unnamed := sorted(shown - later):
                raise unnamed_files(self._store.url, unnamed)
        return hidden

    def _settle_objects(self, manifests: Iterable[Manifest]) -> None:
        known = paths_in(manifests)
        hidden = self._check_named(manifests)
        if not hidden:
            return
        self._show([shown_key(each.key) for each in hidden if shown_key(each.key) in known])
        self._store.put(CLOCK, b"")
        now_ms = self._store.head(CLOCK).modified_ms
        self._store.delete(CLOCK)
        old = [each for each in hidden if shown_key(each.key) not in known and _is_old(each, now_ms)]
        self._store.delete(*(each.key for each in old))

    def _show(self, keys: Sequence[str]) -> None:
        def show(key: str) -> None:
            try:
                self._store.copy(hidden_key(key), key)
            except FileNotFoundError:
                self._store.head(key)  # another run or an earlier attempt has copied it

        _at_once(show, keys)
        self._store.delete(*map(hidden_key, keys))

    def _merge(self) -> None:
        while parts := due_for_merge(self._files):
            contents = [parse_manifest(self._store.read(part.path.as_posix()), part) for part in parts]
            try:
                merged = self._put(merged_manifest(parts, contents))
            except FolderError:
                return
            self._store.delete(*(part.path.as_posix() for part in parts))
            at = self._files.index(parts[0])
            self._files[at : at + len(parts)] = [merged]

    def _taken(self) -> FolderError:
        return FolderError(
            f"another export wrote to {self._store.url} during this run",
            "run only one export at a time to a prefix",
        )


def _is_hidden(key: str) -> bool:
    name = key.rpartition("/")[2]
    return name.startswith(".") and _FILE_NAME.fullmatch(name) is not None


def _is_old(each: StoredObject, now_ms: int) -> bool:
    return now_ms - each.modified_ms > ORPHAN_AGE_MS


def _at_once(work: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
    if len(items) < 2:
        return [work(each) for each in items]
    with ThreadPoolExecutor(min(AT_ONCE, len(items))) as pool:
        return list(pool.map(work, items))
