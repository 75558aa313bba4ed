"""SyncCheckpoint: directory of Spark's offsets for the batches of a sync, with facts of kctl.

    CHECKPOINT/offsets/17         written by Spark before batch 17 starts: the end of the batch
    CHECKPOINT/commits/17         written by Spark after batch 17
    CHECKPOINT/kctl-sync.json     topics, target, and start of partitions that the target did not have

The target has the positions. No record is repeated or omitted if the checkpoint is lost, or is older or newer than the
target.
"""

import hashlib
import json
import os
import re
import shutil
import stat
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, NamedTuple

from kctl.client.cluster import TopicPartition
from kctl.client.config import open_regular
from kctl.client.errors import ConfigError
from kctl.pipeline.job_errors import ExportDataError, FolderError, folder_error, reason_of
from kctl.pipeline.ranges import MAX_OFFSET, Offsets
from kctl.pipeline.source.stream_offsets import StreamOffsets, as_offsets, by_partition, by_topic

CHECKPOINTS: Final = "_checkpoint"
FACTS: Final = "kctl-sync.json"
VERSION: Final = 1
WILDCARDS: Final = frozenset("*?[]{}\\")
"""Characters of paths that Spark reads as a pattern, though it writes them as they are."""
LARGEST_BYTES: Final = 64 * 1024 * 1024
SPARK_FOLDERS: Final = ("offsets", "commits")
SPARK_FILES: Final = ("metadata",)


class SyncFacts(NamedTuple):
    """Facts of a sync's checkpoint.

    Attributes:
        topics: names, or a pattern between slashes.
        starts: start of each partition that the target did not have.
    """

    topics: tuple[str, ...]
    target: str
    starts: Offsets


def default_folder(target: Path, topics: Sequence[str]) -> Path:
    names = sorted(topics)
    name = re.sub(r"[^A-Za-z0-9._-]", "", names[0]).lstrip("_.")[:100] or "topic"
    if names != [name]:
        name = f"{name}-{hashlib.sha256(json.dumps(names).encode()).hexdigest()[:12]}"
    return target / CHECKPOINTS / name


class SyncCheckpoint:
    """Checkpoint of one sync.

    Raises from every method:
        FolderError: the checkpoint cannot be read or written.
        ExportDataError: the checkpoint is damaged.
    """

    def __init__(self, path: Path) -> None:
        self.path = path.absolute()

    def read(self, topics: Sequence[str], target: str) -> SyncFacts | None:
        try:
            self._check_kinds()
            content = self._content(self.path / FACTS)
            if content is None:
                if self.path.exists() and any(self.path.iterdir()):
                    raise FolderError(
                        f"{self.path} is not empty and is not a checkpoint of kctl pipeline sync",
                        "choose another directory with --checkpoint",
                    )
                return None
        except OSError as e:
            raise self._failed(e) from e
        try:
            given = json.loads(content)
            if given["v"] != VERSION:
                raise ValueError(f"unsupported version {given['v']!r}: kctl supports {VERSION}")
            found = SyncFacts(tuple(map(str, given["topics"])), str(given["target"]), by_partition(given["starts"]))
            for tp, offset in found.starts.items():
                if not 0 <= offset <= MAX_OFFSET:
                    raise ValueError(f"invalid offset {offset} of {tp}")
        except (ValueError, OverflowError, TypeError, KeyError, AttributeError, RecursionError) as e:
            raise self._damaged(self.path / FACTS, e) from None
        for what, kept, wanted in (
            ("topics", ", ".join(sorted(found.topics)), ", ".join(sorted(topics))),
            ("target", found.target, target),
        ):
            if kept != wanted:
                raise ConfigError(
                    f"checkpoint {self.path} belongs to a sync with {what} {kept[:200]}, not {wanted[:200]}: choose "
                    f"another directory",
                    key="checkpoint",
                )
        self._check_log()
        return found

    def create(self, facts: SyncFacts) -> None:
        text = json.dumps(
            {"v": VERSION, "topics": facts.topics, "target": facts.target, "starts": by_topic(facts.starts)}
        )
        draft = self.path / f".{FACTS}.{os.getpid()}"
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            draft.unlink(missing_ok=True)
            with draft.open("x") as file:  # "w" would follow a planted link
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            draft.rename(self.path / FACTS)
        except OSError as e:
            with suppress(OSError):
                draft.unlink()
            raise self._failed(e) from e

    def batch_end(self, batch_id: int) -> StreamOffsets:
        """Return the end of a batch, which Spark wrote before the batch started."""
        path = self.path / "offsets" / str(batch_id)
        try:
            version, _metadata, offsets = self._written(path).decode().splitlines()
            if version != "v1":
                raise ValueError(f"unsupported version {version[:20]!r}: kctl supports v1")
            written: Mapping[str, Mapping[str, Any]] = json.loads(offsets)
            return as_offsets(written)
        except (ValueError, OverflowError, TypeError, AttributeError, RecursionError) as e:
            raise self._damaged(path, e) from None

    def committed_end(self) -> StreamOffsets | None:
        """Return the end of the newest batch, or None if the newest batch is not committed."""
        newest = self._newest("offsets")
        return None if newest is None or newest != self._newest("commits") else self.batch_end(newest)

    def forget_batches(self) -> None:
        """Delete Spark's batches, so that its next query starts with batch 0."""
        try:
            for name in SPARK_FOLDERS:
                shutil.rmtree(self.path / name)
        except OSError as e:
            raise self._failed(e) from e

    def _check_log(self) -> None:
        newest, committed = self._newest("offsets"), self._newest("commits")
        if committed is not None:
            path = self.path / "commits" / str(committed)
            if len(self._written(path).splitlines()) < 2:
                raise self._damaged(path, ValueError("the second line is missing"))
            newest = max(committed, -1 if newest is None else newest)
        if newest is not None:
            for number in range(max(0, newest - 1), newest + 1):
                self.batch_end(number)
        path = self.path / SPARK_FILES[0]
        try:
            content = self._content(path)
            if content is not None and not isinstance(json.loads(content)["id"], str):
                raise ValueError("the ID is not a string")
        except OSError as e:
            raise self._failed(e) from e
        except (ValueError, TypeError, KeyError, RecursionError) as e:
            raise self._damaged(path, e) from None

    def _newest(self, folder: str) -> int | None:
        try:
            return max(
                (int(path.name) for path in (self.path / folder).iterdir() if path.name.isdecimal()), default=None
            )
        except FileNotFoundError:
            return None
        except OSError as e:
            raise self._failed(e) from e

    def _check_kinds(self) -> None:
        """Raise FolderError if a file of Spark is not a regular file. Spark would wait forever for the writer of a
        pipe.
        """
        files = [self.path / name for name in SPARK_FILES]
        for folder in (self.path / name for name in SPARK_FOLDERS):
            if folder.exists():
                files += folder.iterdir()
        for path in files:
            with suppress(FileNotFoundError):
                if not stat.S_ISREG(path.stat().st_mode):
                    raise FolderError(
                        f"checkpoint {path}: not a regular file", "choose another directory with --checkpoint"
                    )

    def _written(self, path: Path) -> bytes:
        try:
            content = self._content(path)
        except OSError as e:
            raise self._failed(e) from e
        if content is None:
            raise self._damaged(path, ValueError("the file does not exist"))
        return content

    def _content(self, path: Path) -> bytes | None:
        try:
            with open_regular(path) as file:
                content = file.read(LARGEST_BYTES + 1)
        except FileNotFoundError:
            return None
        if len(content) > LARGEST_BYTES:
            raise ExportDataError(f"{path} is too large for a checkpoint file")
        return content

    def _damaged(self, path: Path, error: Exception) -> ExportDataError:
        return ExportDataError(
            f"checkpoint file {path} is damaged: {reason_of(error)}",
            "delete the checkpoint, and run the command again to continue at the offsets of the target",
        )

    def _failed(self, error: OSError) -> FolderError:
        named = OSError(error.errno, error.strerror or str(error))
        return folder_error(f"checkpoint {error.filename or self.path}", named)


def starting_offsets(partitions: Sequence[TopicPartition], starts: Offsets, earliest: int) -> str:
    """Return the source's option `startingOffsets`. Partitions without a start begin at `earliest`."""
    return json.dumps(by_topic({tp: starts.get(tp, earliest) for tp in partitions}))
