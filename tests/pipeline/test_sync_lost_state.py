"""Syncs whose checkpoint or target lost a piece, or has an older one: rejected and unchanged, or each record once."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from kctl.pipeline.job_errors import ExportDataError, FolderError
from kctl.pipeline.jobs.export import ExportRequest
from kctl.pipeline.jobs.sync import SyncRequest, plan_sync, sync
from kctl.pipeline.jobs.sync_checkpoint import FACTS
from kctl.pipeline.ranges import Selection
from kctl.pipeline.session import Session
from tests.pipeline.exports import Row, in_export, on_topic, produce
from tests.support.kafka.cluster import KafkaCluster

# PySpark leaves sockets to the garbage collector.
pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")

EACH = 20
BATCHES = 3


class Place(NamedTuple):
    """A sync of one topic: its target, its checkpoint, and copies of both after each batch."""

    topic: str
    target: Path
    checkpoint: Path
    copies: Path

    def save(self, number: int) -> None:
        shutil.copytree(self.target, self.copies / f"{number}/target")
        shutil.copytree(self.checkpoint, self.copies / f"{number}/checkpoint")

    def restore(self, *, target: int = BATCHES, checkpoint: int = BATCHES) -> None:
        """Restore both as they were after a batch; 0: there is none."""
        for path, number in ((self.target, target), (self.checkpoint, checkpoint)):
            shutil.rmtree(path, ignore_errors=True)
            if number:
                shutil.copytree(self.copies / f"{number}/{path.name}", path)

    def lose(self, *names: str) -> None:
        """Delete files and folders of the checkpoint, with Spark's checksums."""
        for path in (self.checkpoint / name for name in names):
            shutil.rmtree(path) if path.is_dir() else path.unlink()
            path.with_name(f".{path.name}.crc").unlink(missing_ok=True)

    def replace(self, name: str, content: bytes) -> None:
        """Replace the content of a file of the checkpoint."""
        self.lose(name)
        (self.checkpoint / name).write_bytes(content)

    def read(self) -> list[Row]:
        """Return what the target has."""
        return in_export(self.target) if self.target.exists() else []


@pytest.fixture(scope="module")
def place(kafka_newest: KafkaCluster, session: Session, tmp_path_factory: pytest.TempPathFactory) -> Place:
    """A sync after three batches, and the records of a fourth one."""
    folder = tmp_path_factory.mktemp("sync")
    topic = kafka_newest.create_topic(partitions=2)
    place = Place(topic, folder / "target", folder / "checkpoint", folder / "copies")
    for number in range(BATCHES):
        produce(kafka_newest.bootstrap(), topic, EACH, partitions=2, first=number * EACH)
        assert sync(request_of(kafka_newest, place), session=session).batches == 1
        place.save(number + 1)
    produce(kafka_newest.bootstrap(), topic, EACH, partitions=2, first=BATCHES * EACH)
    return place


def request_of(kafka: KafkaCluster, place: Place) -> SyncRequest:
    exported = ExportRequest(Selection(topics=(place.topic,)), place.target, kafka.client_properties())
    return SyncRequest(exported, place.checkpoint, trigger_ms=None, max_batch_records=0)


def check(kafka: KafkaCluster, session: Session, place: Place) -> None:
    """Check that the next run leaves each record once, and that the run after it has nothing to copy."""
    request = request_of(kafka, place)
    sync(request, session=session)
    assert place.read() == on_topic(kafka.client_properties(), place.topic)
    assert sync(request, session=session).batches == 0


@pytest.mark.parametrize(
    "lose",
    [
        pytest.param(lambda place: place.lose("metadata"), id="id of the query"),
        pytest.param(lambda place: place.lose("offsets/0"), id="oldest offsets"),
        pytest.param(lambda place: place.replace("offsets/2", older(place)), id="older offsets"),
        pytest.param(lambda place: place.lose("commits"), id="commits"),
        pytest.param(lambda place: place.lose("commits/2"), id="newest commit"),
        pytest.param(lambda place: place.lose("offsets/2", "commits/2"), id="newest batch"),
        pytest.param(lambda place: place.lose("offsets", "commits"), id="batches"),
        pytest.param(lambda place: place.restore(checkpoint=0), id="checkpoint"),
        pytest.param(lambda place: place.restore(checkpoint=1), id="newer checkpoint"),
        pytest.param(lambda place: place.restore(target=1), id="newer target"),
        pytest.param(lambda place: place.restore(target=0), id="target"),
        pytest.param(lambda place: place.restore(target=1, checkpoint=0), id="newer target and checkpoint"),
    ],
)
def test_sync_without_a_part_of_its_state_copies_each_record_once(
    kafka_newest: KafkaCluster, session: Session, place: Place, lose: Callable[[Place], None]
) -> None:
    place.restore()
    lose(place)
    check(kafka_newest, session, place)


def older(place: Place) -> bytes:
    return (place.checkpoint / "offsets/1").read_bytes()


@pytest.mark.parametrize(
    "lose",
    [
        pytest.param(lambda place: place.lose(FACTS), id="facts"),
        pytest.param(lambda place: place.replace("metadata", b""), id="empty id of the query"),
        pytest.param(lambda place: place.lose("offsets"), id="offsets"),
        pytest.param(lambda place: place.lose("offsets/2"), id="newest offsets"),
        pytest.param(lambda place: place.replace("offsets/2", older(place)[:-20]), id="cut offsets"),
        pytest.param(lambda place: place.replace("commits/2", b""), id="empty commit"),
    ],
)
def test_sync_with_a_checkpoint_that_spark_cannot_continue_is_rejected(
    kafka_newest: KafkaCluster, session: Session, place: Place, lose: Callable[[Place], None]
) -> None:
    place.restore()
    lose(place)
    before = place.read()
    request = request_of(kafka_newest, place)
    with pytest.raises((FolderError, ExportDataError)):
        sync(request, session=session)
    with pytest.raises((FolderError, ExportDataError)):
        plan_sync(request)
    assert place.read() == before
    shutil.rmtree(place.checkpoint)
    check(kafka_newest, session, place)


@pytest.mark.parametrize("target", [0, 1])
def test_older_target_is_completed_although_no_record_comes(
    kafka_newest: KafkaCluster, session: Session, place: Place, target: int
) -> None:
    """Spark has no batch to run: its checkpoint is at the ends."""
    place.restore()
    check(kafka_newest, session, place)
    complete = place.copies / f"complete-{target}"
    place.checkpoint.rename(complete)
    place.restore(target=target, checkpoint=0)
    complete.rename(place.checkpoint)
    check(kafka_newest, session, place)
