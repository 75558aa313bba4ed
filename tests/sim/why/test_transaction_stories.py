"""Transactions that hold readers back, and records that no consumer gets past, on the sandbox."""

from collections.abc import Callable

from kctl.client.consumer.consumer import Consumer
from kctl.client.producer import Producer
from tests.sim.admin.group_world import settle
from tests.sim.why.scene import Scene, with_scene

NAME = "copier"


def begin(scene: Scene, name: str = NAME, **properties: object) -> Producer:
    given = {key.replace("_", "."): value for key, value in properties.items()}
    producer = scene.world.producer({"transactional.id": name, **given})
    producer.init_transactions()
    producer.begin_transaction()
    producer.send("t", b"x", partition=0)
    producer.flush()
    return producer


def wait(scene: Scene, ms: int) -> None:
    driver = scene.world.runtime.driver
    driver.wait(driver.waiter(), scene.world.clock.now_ms() + ms)


def test_transaction_whose_marker_is_lost_hangs() -> None:
    def story(scene: Scene) -> None:
        scene.world.sandbox.lose_markers(NAME)
        producer = begin(scene)
        producer.commit_transaction(timeout=10)
        producer.close()
        scene.produce(4)
        wait(scene, 5_000)
        found = scene.topic()
        assert found.keys() == {"transaction-hanging"}
        sentence = found["transaction-hanging"].sentence
        assert sentence.startswith("t-0: readers of committed records stop at offset 0, and 5 records wait. Producer ")
        assert f"transactional.id {NAME}) opened a transaction there 5s ago" in sentence
        cure = "kctl transactions abort t:0 --start-offset 0 --execute"
        assert found["transaction-hanging"].cure == cure

    with_scene(story)


def test_open_transaction_is_reported_after_a_minute() -> None:
    def story(scene: Scene) -> None:
        producer = begin(scene, transaction_timeout_ms=600_000)
        assert scene.topic() == {}
        wait(scene, 90_000)
        found = scene.topic()
        assert found.keys() == {"transaction-open"}
        assert "opened a transaction there 1m30s ago" in found["transaction-open"].sentence
        producer.abort_transaction(timeout=10)
        assert scene.topic() == {}
        producer.close()

    with_scene(story)


def reading(scene: Scene, last: Callable[[Producer], None]) -> Consumer:
    """Return a member that has read partition 0 up to the record that `last` sends, and all of partition 1."""
    member = scene.enter(scene.world.member("g", client_id="app-7", enable_auto_commit=False))
    settle(member)
    with scene.world.producer() as producer:
        for _ in range(5):
            producer.send("t", b"\x00\x00\x00\x00\x07usual", partition=0)
    scene.produce(5, partition=1)
    for _ in range(3):
        member.poll(timeout=0.2)
        member.commit_sync(timeout=5)
    with scene.world.producer() as producer:
        last(producer)
    scene.produce(3, partition=0)
    scene.produce(3, partition=1)
    return member


def move_on(scene: Scene, member: Consumer) -> None:
    """Commit what there is of partition 1, and leave partition 0 alone."""
    member.poll(timeout=0.2)
    member.poll(timeout=0.2)
    offsets = {tp: member.position(tp) for tp in member.assignment if tp.partition == 1}
    member.commit_sync(offsets, timeout=5)


def poison(scene: Scene, last: Callable[[Producer], None]) -> str:
    member = reading(scene, last)
    found = scene.group(meanwhile=lambda: move_on(scene, member))
    assert found.keys() == {"poison-record"}
    finding = found["poison-record"]
    assert finding.cure == "kctl groups reset-offsets g --topic t:0 --to-offset 6 --execute"
    return finding.sentence


def test_record_that_is_much_larger_than_those_before_it() -> None:
    def story(scene: Scene) -> None:
        sentence = poison(scene, lambda producer: _send(producer, b"\x00\x00\x00\x00\x07" + b"x" * 400_000))
        assert sentence.startswith("g stops at t-0 offset 5, and 4 records wait behind it. The record has 400 kB, ")
        assert "Its owner is app-7 (" in sentence

    with_scene(story, topics={"t": 2})


def test_record_with_another_schema() -> None:
    def story(scene: Scene) -> None:
        sentence = poison(scene, lambda producer: _send(producer, b"\x00\x00\x00\x00\x09other"))
        assert "The record has schema id 9, those before it 7" in sentence

    with_scene(story, topics={"t": 2})


def test_record_without_a_value() -> None:
    def story(scene: Scene) -> None:
        assert "The record has no value (a tombstone)" in poison(scene, lambda producer: _send(producer, None))

    with_scene(story, topics={"t": 2})


def test_batch_that_cannot_be_read() -> None:
    def story(scene: Scene) -> None:
        def last(producer: Producer) -> None:
            _send(producer, b"\x00\x00\x00\x00\x07usual")
            producer.flush()
            log = scene.world.sandbox.cluster.topics["t"].partitions[0].log
            stored = log.batches[-1]
            damaged = bytearray(stored.data)
            damaged[-1] ^= 0xFF
            log._batches[-1] = stored._replace(data=bytes(damaged))

        member = reading(scene, last)
        found = scene.group(meanwhile=lambda: None)
        assert found.keys() == {"poison-record"}
        assert "The batch cannot be read: " in found["poison-record"].sentence
        assert member is not None

    with_scene(story, topics={"t": 2})


def _send(producer: Producer, value: bytes | None) -> None:
    producer.send("t", value, partition=0)


def test_record_like_the_others_is_a_stuck_group_and_no_poison() -> None:
    def story(scene: Scene) -> None:
        member = reading(scene, lambda producer: _send(producer, b"\x00\x00\x00\x00\x07usual"))
        found = scene.group(meanwhile=lambda: move_on(scene, member))
        assert found.keys() == {"group-stuck"}
        assert "1 partition with records to read, and moves on 1 more" in found["group-stuck"].sentence

    with_scene(story, topics={"t": 2})
