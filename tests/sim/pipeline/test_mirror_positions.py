"""Positions of a mirror in virtual time: transactions whose markers are late, killed runs, and lost positions."""

from collections.abc import Callable

import pytest

from kctl.client.admin import LATEST, Admin, NewTopic
from kctl.client.cluster import TopicPartition
from kctl.client.consumer.group.events import GroupMetadata
from kctl.client.producer import Producer
from kctl.pipeline.jobs.mirror_positions import (
    MirrorPosition,
    MirrorTarget,
    Positions,
    create_positions_topic,
    find_positions,
    write_position,
)
from kctl.pipeline.jobs.mirror_task import Mirrored, MirrorTask, choose_positions, mirror_range
from kctl.pipeline.ranges import OffsetRange
from kctl.sandbox.settings import ClusterSettings
from tests.sim.kit import SimCluster
from tests.sim.pipeline.test_ranges import properties, run, runtime
from tests.sim.virtual import Hub, sim_runtime
from tests.support.killed_commits import KilledError, killed_after

TARGET = MirrorTarget("copy", "kctl-mirror.m.t")
SOURCE = TopicPartition("t", 0)
MARKERS_MS = 700
LEVELS = ("read_committed", "read_uncommitted")


class Mirrors:
    """A target cluster with transactions of mirrors of t-0, each committed or left open as by a killed run."""

    def __init__(self, cluster: SimCluster) -> None:
        self.scene = cluster
        self._admin = Admin(properties(cluster), runtime(cluster, "admin"))
        self._writers: list[Producer] = []
        self._admin.create_topics([NewTopic("copy", 1)]).raise_first()
        create_positions_topic(self._admin)

    def write(self, end: int, *, is_committed: bool = True) -> None:
        """Write records up to an offset of the source, and the position, in a transaction."""
        self._writers.append(self.begin())
        producer = self._writers[-1]
        producer.send("copy", b"%d" % end, partition=0)
        position = MirrorPosition.behind(OffsetRange(*SOURCE, 0, end), TARGET, end)
        offset = write_position(producer, TARGET, 0, position)
        producer.flush()
        producer.send_offsets_to_transaction({TopicPartition("copy", 0): offset}, GroupMetadata(TARGET.group_id))
        if is_committed:
            producer.commit_transaction()

    def begin(self) -> Producer:
        """Return a producer in a transaction; it ends the one that is open."""
        given = {**properties(self.scene), "transactional.id": "m", "transaction.timeout.ms": 120_000}
        producer = Producer(given, sim_runtime(self.scene.hub, f"run {len(self._writers)}", self.scene.network))
        producer.init_transactions(10)
        producer.begin_transaction()
        return producer

    def find(self) -> Positions:
        """Return what a run would plan with."""
        name = f"plan {self.scene.hub.now_ms}"
        with Admin(properties(self.scene), runtime(self.scene, name)) as admin:
            return find_positions(
                admin, properties(self.scene), {"t": TARGET}, {"t": 1}, runtime(self.scene, f"{name} reader")
            )

    def offsets(self) -> int | None:
        """Return the position that is found; None where the partition is mirrored from its beginning."""
        positions = self.find()
        assert positions.lost == []
        position = positions.found.get(SOURCE)
        return None if position is None else position.source.offset

    def forget(self) -> None:
        """Delete the offsets of the group, as a broker does after offsets.retention.minutes."""
        self._admin.delete_groups([TARGET.group_id]).raise_first()

    def close(self) -> None:
        for producer in self._writers:
            producer.close(0)
        self._admin.close()


def mirrors(body: Callable[[Mirrors], None], *, markers_ms: int = 0) -> None:
    with Hub(seed=7) as hub:
        cluster = SimCluster(hub, settings=ClusterSettings(transaction_marker_delay_ms=markers_ms))

        def app() -> None:
            world = Mirrors(cluster)
            body(world)
            world.close()

        run(cluster, app)


@pytest.mark.parametrize("offset", [0, 5], ids=["restart", "chosen"])
def test_chosen_position_is_found_after_the_offsets_of_the_group_expire(offset: int) -> None:
    def body(world: Mirrors) -> None:
        world.write(10)
        position = MirrorPosition.behind(OffsetRange(*SOURCE, 0, 10), TARGET, offset)
        choose_positions(properties(world.scene), TARGET, {0: position}, runtime(world.scene, "choice"))
        assert world.offsets() == offset
        world.forget()
        assert world.offsets() == offset

    mirrors(body, markers_ms=MARKERS_MS)


def test_position_of_a_transaction_whose_markers_are_late_is_not_lost() -> None:
    def body(world: Mirrors) -> None:
        world.write(10)
        started_ms, answers = world.scene.hub.now_ms, set()
        while world.scene.hub.now_ms < started_ms + 2 * MARKERS_MS:
            answers.add(world.offsets())
            world.scene.hub.sleep_ms(20)
        assert answers == {None, 10}

    mirrors(body, markers_ms=MARKERS_MS)


@pytest.mark.parametrize("has_expired", [False, True], ids=["group offset", "positions topic"])
def test_open_transaction_of_a_killed_run_does_not_delay_planning(has_expired: bool) -> None:
    def body(world: Mirrors) -> None:
        world.write(10)
        world.scene.hub.sleep_ms(100)
        if has_expired:
            world.forget()
        world.write(20, is_committed=False)
        before_ms = world.scene.hub.now_ms
        assert world.offsets() == 10
        assert world.scene.hub.now_ms - before_ms < 1000

    mirrors(body)


def test_task_ends_when_readers_see_its_records_and_its_position() -> None:
    def body(world: Mirrors) -> None:
        cluster = world.scene
        cluster.write(0, 100)
        given = properties(cluster)
        task = MirrorTask("run", OffsetRange(*SOURCE, 0, 100, log_end=100), TARGET, False, 30, given, given)
        assert mirror_range(task, runtime(cluster, "task")) == Mirrored(100, 4)
        assert world.offsets() == 100
        copy, admin = TopicPartition("copy", 0), Admin(given, runtime(cluster, "reader"))
        ends = {level: admin.list_offsets({copy: LATEST}, isolation_level=level)[copy].offset for level in LEVELS}
        admin.close()
        assert set(ends.values()) == {104}, "records and a marker for each transaction"

    mirrors(body, markers_ms=MARKERS_MS)


@pytest.mark.parametrize("kept", range(4))
def test_attempt_after_a_killed_one_copies_the_rest_and_counts_all(monkeypatch: pytest.MonkeyPatch, kept: int) -> None:
    """The commit of the transaction after some that were kept does not come."""

    def body(world: Mirrors) -> None:
        cluster = world.scene
        cluster.write(0, 100)
        given = properties(cluster)
        task = MirrorTask("run", OffsetRange(*SOURCE, 0, 100, log_end=100), TARGET, False, 30, given, given)
        monkeypatch.setattr(Producer, "commit_transaction", killed_after(kept))
        with pytest.raises(KilledError):
            mirror_range(task, runtime(cluster, "killed"))
        monkeypatch.undo()
        assert mirror_range(task, runtime(cluster, "next")) == Mirrored(100, 4)
        assert mirror_range(task._replace(run="another"), runtime(cluster, "other")) == Mirrored()
        assert world.offsets() == 100

    mirrors(body, markers_ms=MARKERS_MS)


def test_run_killed_in_its_first_transaction_has_lost_nothing() -> None:
    def body(world: Mirrors) -> None:
        world.write(10, is_committed=False)
        assert world.offsets() is None
        world.write(10, is_committed=False)  # which aborts the first one
        assert world.offsets() is None

    mirrors(body)


def test_target_with_records_and_no_position_is_lost() -> None:
    def body(world: Mirrors) -> None:
        world.scene.write(0, 5, topic="copy")
        assert world.find() == Positions({}, [SOURCE])
        world.scene.log(0, "copy").delete_records(5)
        assert world.find() == Positions({}, [SOURCE]), "its records were deleted since"

    mirrors(body)
