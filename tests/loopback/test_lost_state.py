"""Exports whose state was deleted in part: the next run rejects the target, or has each record once."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow.dataset
import pytest

from kctl.client.producer import Producer
from kctl.pipeline.job_errors import ExportDataError, FolderError
from kctl.pipeline.jobs.export import ExportRequest, export
from kctl.pipeline.locations import DeltaTable, Location
from kctl.pipeline.ranges import Selection
from kctl.sandbox.sandbox import Sandbox
from tests.support.spark_in_process import session_in_process

EACH = 5


@pytest.fixture
def bootstrap() -> Iterator[str]:
    with Sandbox(nodes=1, topics={"t": 2}).serve() as served:
        yield served.bootstrap


def run(bootstrap: str, location: Location) -> None:
    """Export EACH more records of both partitions."""
    given: dict[str, object] = {"bootstrap.servers": bootstrap}
    with Producer(given) as producer:
        for number in range(2 * EACH):
            producer.send("t", b"%d" % number, partition=number % 2)
    with session_in_process() as session:
        export(ExportRequest(Selection(topics=("t",)), location, given), session=session)


def rows(location: Location) -> list[tuple[int, int]]:
    """Return partitions and offsets, read by other libraries."""
    if isinstance(location, DeltaTable):
        import deltalake

        table = deltalake.DeltaTable(location).to_pyarrow_table()
    else:
        table = pyarrow.dataset.dataset(Path(str(location)) / "t").to_table()
    return sorted(zip(table.column("partition").to_pylist(), table.column("offset").to_pylist(), strict=True))


def expected(rounds: int) -> list[tuple[int, int]]:
    return [(partition, offset) for partition in range(2) for offset in range(rounds * EACH)]


@pytest.mark.parametrize(
    ("state", "lose", "is_rejected"),
    [
        ("all manifests", lambda folder: shutil.rmtree(folder / "_manifest"), True),
        ("the newest manifest", lambda folder: (folder / "_manifest/00000002.json").unlink(), True),
        ("the first manifest", lambda folder: (folder / "_manifest/00000001.json").unlink(), True),
        ("temporary files", lambda folder: shutil.rmtree(folder / "_tmp"), False),
    ],
)
def test_folder_without_a_part_of_its_state(
    bootstrap: str, tmp_path: Path, state: str, lose: Callable[[Path], object], is_rejected: bool
) -> None:
    folder = tmp_path / "x"
    for _ in range(2):
        run(bootstrap, folder)
    lose(folder)
    if is_rejected:
        with pytest.raises((FolderError, ExportDataError)):
            run(bootstrap, folder)
    else:
        run(bootstrap, folder)
    assert rows(folder) == expected(2 if is_rejected else 3), state


def test_delta_table_without_its_newest_commit_is_exported_again_from_there(bootstrap: str, tmp_path: Path) -> None:
    table = DeltaTable(str(tmp_path / "x"))
    for _ in range(2):
        run(bootstrap, table)
    max((tmp_path / "x/_delta_log").glob("*.json")).unlink()
    run(bootstrap, table)
    assert rows(table) == expected(3)
