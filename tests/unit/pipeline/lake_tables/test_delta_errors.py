"""Errors of delta-rs in one line: no URL in them has a password or a signature."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import deltalake
import pyarrow as pa
import pytest
from deltalake.exceptions import CommitFailedError, DeltaError

from kctl.client.errors import KafkaError
from kctl.pipeline.job_errors import ExportDataError, StoreError
from kctl.pipeline.lake_tables.delta import DeltaTarget
from kctl.pipeline.locations import DeltaTable
from kctl.pipeline.object_store.store import StoreTimeouts

pytestmark = pytest.mark.slow  # the libraries of tables take seconds

URLS = ["http://user:canary@127.0.0.1:9000/kafka/x", "https://account.example/x?sig=canary&a=b#canary"]
CASES = [
    (lambda text: DeltaError(text), "Generic error: ", StoreError),
    (lambda text: DeltaError(text), "Kernel error: Json error: of ", ExportDataError),
    (lambda text: CommitFailedError(text), "Failed to commit: ", StoreError),
    (lambda text: OSError(text), "Generic S3 error: Error performing GET ", StoreError),
    (lambda text: ValueError(text), "cannot read ", StoreError),
]


@pytest.mark.parametrize("url", URLS)
@pytest.mark.parametrize(("error_of", "words", "kind"), CASES)
def test_error_of_a_table_has_no_secret_of_a_url(
    error_of: Callable[[str], Exception],
    words: str,
    kind: type[KafkaError],
    url: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise error_of(f"{words}{url} in 3ms\n↳ caused by {url}")

    monkeypatch.setattr(deltalake, "DeltaTable", fail)
    with pytest.raises(kind, match=r"^delta:s3://bucket/x: ") as caught:
        DeltaTarget(DeltaTable("s3://bucket/x"), StoreTimeouts()).columns()
    assert "canary" not in str(caught.value)
    assert "in 3ms" in str(caught.value)
    assert "\n" not in str(caught.value)


READS: list[Callable[[DeltaTarget], object]] = [
    DeltaTarget.sizes,
    DeltaTarget.manifests,
    lambda target: target.live_partitions([("t", 0)]),
]


def opened(folder: Path) -> DeltaTarget:
    location = DeltaTable(str(folder / "table"))
    deltalake.DeltaTable.create(location, pa.schema([("topic", pa.string()), ("partition", pa.int32())]))
    target = DeltaTarget(location, StoreTimeouts())
    target.positions()
    return target


@pytest.mark.parametrize("read", READS, ids=["sizes", "manifests", "partitions"])
def test_live_files_that_cannot_be_read_have_the_name_of_the_table(
    read: Callable[[DeltaTarget], object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise DeltaError("Kernel error: Parquet error: a checkpoint ends early")

    target = opened(tmp_path)
    monkeypatch.setattr(deltalake.DeltaTable, "get_add_actions", fail)
    with pytest.raises(ExportDataError, match=r"^delta:.*/table: the log of the table is damaged: "):
        read(target)


def test_sizes_of_a_table_without_statistics_have_no_records(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def added(*_: object, **__: object) -> Any:
        return pa.RecordBatch.from_pydict({"path": ["t/a", "t/b"], "size_bytes": [1, 2]})

    target = opened(tmp_path)
    monkeypatch.setattr(deltalake.DeltaTable, "get_add_actions", added)
    assert target.sizes() == (0, 2, 3)
