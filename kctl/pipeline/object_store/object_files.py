"""Files of one range for an object store, written to the local disk and uploaded when complete.

Object names have a digest of run, attempt and path, because another run may be deleting objects of an earlier attempt.
"""

import hashlib
import os
import shutil
import tempfile
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from kctl.pipeline.export_files.folder import FORMATS
from kctl.pipeline.export_files.range_files import RangeFiles, RangeName
from kctl.pipeline.job_errors import FolderError, folder_error
from kctl.pipeline.locations import StoreUrl
from kctl.pipeline.object_store.store import ObjectStore, StoreTimeouts, hidden_key

if TYPE_CHECKING:
    from kctl.pipeline.targets import FileKind


@dataclass(frozen=True)
class ObjectPlace:
    """Destination of the tasks of one round, without secrets."""

    url: StoreUrl
    timeouts: StoreTimeouts
    kind: "FileKind"
    run_id: str

    @cached_property
    def store(self) -> ObjectStore:
        return ObjectStore(self.url, self.timeouts)

    def open(self, name: RangeName, attempt: int) -> "SpilledFiles":
        return SpilledFiles(Upload(self, attempt), name)


class Spill:
    """Local directory for the files of one range, written by one attempt of a run."""

    is_table = False

    def __init__(self, kind: "FileKind", attempt: int, run_id: str) -> None:
        self.layout, self.format, self.compression_level, self.file_bytes = kind
        self.attempt = attempt
        self._run_id = run_id
        parent = os.environ.get("SPARK_LOCAL_DIRS", "").split(",")[0]  # Spark removes it even after a kill
        try:
            self.round_folder = Path(tempfile.mkdtemp(prefix="kctl-spill-", dir=parent or None))
        except OSError as e:
            raise folder_error(parent or tempfile.gettempdir(), e) from e

    def settle(self, draft: Path) -> None:
        """Do nothing, because after a machine crash another attempt writes the file again."""

    def footer(self, draft: Path) -> bytes:  # noqa: ARG002 - of Files
        return b""

    def put(self, draft: Path, path: str) -> str:
        raise NotImplementedError

    def key_of(self, path: str) -> str:
        """Return a name that is unique to this attempt."""
        extension = FORMATS[self.format]
        digest = hashlib.blake2b(f"{self.attempt}/{path}".encode(), digest_size=16, key=self._run_id.encode())
        return f"{path.removesuffix(extension)}.{digest.hexdigest()}{extension}"

    def failed(self, error: OSError) -> FolderError:
        hint = "to change the directory of files that wait for their upload, add --spark-conf spark.local.dir=DIRECTORY"
        return folder_error(self.round_folder, error, hint)


class Upload(Spill):
    """Spill whose files are uploaded under hidden names."""

    def __init__(self, place: ObjectPlace, attempt: int) -> None:
        self._store = place.store
        super().__init__(place.kind, attempt, place.run_id)

    def put(self, draft: Path, path: str) -> str:
        """Upload a file under its hidden name, and return its final name."""
        key = self.key_of(path)
        self._store.upload(hidden_key(key), draft)
        draft.unlink()
        return key


class SpilledFiles(RangeFiles):
    """Files of a range, removed with their local directory."""

    def __init__(self, spill: Spill, name: RangeName) -> None:
        super().__init__(spill, name)
        self._spill = spill

    def __exit__(self, *error: object) -> None:
        super().__exit__(*error)
        shutil.rmtree(self._spill.round_folder, ignore_errors=True)
