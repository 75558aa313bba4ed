"""Transactions that hold readers back, and records that no consumer gets past, on the sandbox."""

from collections.abc import Callable

from kctl.client.consumer.consumer import Consumer
from kctl.client.producer import Producer
from kctl.why import Scope, Selection, Severity, diagnose
from tests.sim.kit import settle
from tests.sim.why.story import Story, run_story

STOP = "stop the consumers of g, then: "

NAME = "copier"


def begin(story: Story, name: str = NAME, **properties: object) -> Producer:
    given = {key.replace("_", "."): value for key, value in properties.items()}
    producer = story.sim.producer({"transactional.id": name, **given})
    producer.init_transactions()
    producer.begin_transaction()
    producer.send("t", b"x", partition=0)
    producer.flush()
    return producer


def wait(story: Story, ms: int) -> None:
    driver = story.sim.runtime.driver
    driver.wait(driver.waiter(), story.sim.clock.now_ms() + ms)


def test_transaction_whose_marker_is_lost_hangs() -> None:
    def body(story: Story) -> None:
        story.sim.sandbox.lose_markers(NAME)
        producer = begin(story)
        producer.commit_transaction(timeout=10)
        producer.close()
        story.produce(4)
        wait(story, 5_000)
        found = story.topic()
        assert found.keys() == {"transaction-hanging"}
        sentence = found["transaction-hanging"].sentence
        assert sentence.startswith(
            "a hanging transaction blocks read_committed consumers of t-0 at offset 0, with 5 records after it. "
        )
        assert f"transactional.id {NAME}) began the transaction 5s ago" in sentence
        cure = "kctl transactions abort t:0 --start-offset 0 --execute"
        assert found["transaction-hanging"].cure == cure

    run_story(body)


def test_open_transaction_is_a_note_after_a_second_and_a_warning_after_a_minute() -> None:
    def body(story: Story) -> None:
        producer = begin(story, transaction_timeout_ms=600_000)
        wait(story, 1500)
        assert story.topic()["transaction-running"].severity is Severity.NOTE
        wait(story, 90_000)
        found = story.topic()
        assert found.keys() == {"transaction-open"}
        assert "began the transaction 1m31s ago" in found["transaction-open"].sentence
        producer.abort_transaction(timeout=10)
        assert story.topic() == {}
        producer.close()

    run_story(body)


def reading(story: Story, last: Callable[[Producer], None]) -> Consumer:
    """Return a member that has read partition 0 up to the record that `last` sends, and all of partition 1."""
    member = story.enter(story.sim.classic_member("g", client_id="app-7", enable_auto_commit=False))
    settle(member)
    with story.sim.producer() as producer:
        for _ in range(5):
            producer.send("t", b"\x00\x00\x00\x00\x07usual", partition=0)
    story.produce(5, partition=1)
    for _ in range(3):
        member.poll(timeout=0.2)
        member.commit_sync(timeout=5)
    with story.sim.producer() as producer:
        last(producer)
    story.produce(3, partition=0)
    story.produce(3, partition=1)
    return member


def move_on(story: Story, member: Consumer) -> None:
    """Commit what there is of partition 1, and leave partition 0 alone."""
    member.poll(timeout=0.2)
    member.poll(timeout=0.2)
    offsets = {tp: member.position(tp) for tp in member.assignment if tp.partition == 1}
    member.commit_sync(offsets, timeout=5)


def poison(story: Story, last: Callable[[Producer], None]) -> str:
    member = reading(story, last)
    found = story.group(meanwhile=lambda: move_on(story, member))
    assert found.keys() == {"poison-record"}
    finding = found["poison-record"]
    assert finding.cure == f"{STOP}kctl groups reset-offsets g --topic t:0 --to-offset 6 --execute"
    return finding.sentence


def test_record_that_is_much_larger_than_those_before_it_is_found() -> None:
    def body(story: Story) -> None:
        sentence = poison(story, lambda producer: _send(producer, b"\x00\x00\x00\x00\x07" + b"x" * 400_000))
        assert sentence.startswith(
            "g is stuck at offset 5 of t-0, with 3 records after it. The size of the record is 400 kB, "
        )
        assert "The partition is assigned to member app-7 (" in sentence

    run_story(body, topics={"t": 2})


def test_record_with_another_schema_is_found() -> None:
    def body(story: Story) -> None:
        sentence = poison(story, lambda producer: _send(producer, b"\x00\x00\x00\x00\x09other"))
        assert "The record has schema ID 9, but earlier records have schema ID 7" in sentence

    run_story(body, topics={"t": 2})


def test_record_without_a_value_is_found() -> None:
    def body(story: Story) -> None:
        assert "The record is a tombstone (no value)" in poison(story, lambda producer: _send(producer, None))

    run_story(body, topics={"t": 2})


def test_poison_record_of_one_of_two_groups_in_a_partition_is_skipped_for_this_group_alone() -> None:
    def body(story: Story) -> None:
        stuck = reading(story, lambda producer: _send(producer, None))
        other = story.enter(story.sim.classic_member("h", client_id="app-8", enable_auto_commit=False))
        settle(other)
        for _ in range(3):
            other.poll(timeout=0.2)
        other.commit_sync(timeout=5)
        story.produce(3, partition=0)
        story.produce(3, partition=1)

        def move_both() -> None:
            move_on(story, stuck)
            move_on(story, other)

        looks = story.looks(Selection(groups=("g", "h")), meanwhile=move_both)
        found = {each.sentence[0]: each for each in diagnose(looks, (Scope.GROUP,)).findings}
        assert {group_id: each.id for group_id, each in found.items()} == {"g": "poison-record", "h": "group-stuck"}
        assert "g is stuck at offset 5 of t-0" in found["g"].sentence
        assert found["g"].cure == f"{STOP}kctl groups reset-offsets g --topic t:0 --to-offset 6 --execute"
        assert "kctl groups reset-offsets h --topic t:0 --to-offset 10 --execute" in found["h"].cure

    run_story(body, topics={"t": 2})


def test_batch_that_cannot_be_read_is_found() -> None:
    def body(story: Story) -> None:
        def last(producer: Producer) -> None:
            _send(producer, b"\x00\x00\x00\x00\x07usual")
            producer.flush()
            log = story.sim.sandbox.cluster.topics["t"].partitions[0].log
            stored = log.batches[-1]
            damaged = bytearray(stored.data)
            damaged[-1] ^= 0xFF
            log._batches[-1] = stored._replace(data=bytes(damaged))

        member = reading(story, last)
        found = story.group(meanwhile=lambda: None)
        assert found.keys() == {"poison-record"}
        assert "The batch cannot be read: " in found["poison-record"].sentence
        assert member is not None

    run_story(body, topics={"t": 2})


def _send(producer: Producer, value: bytes | None) -> None:
    producer.send("t", value, partition=0)


def test_record_like_the_others_is_a_stuck_group_and_no_poison() -> None:
    def body(story: Story) -> None:
        member = reading(story, lambda producer: _send(producer, b"\x00\x00\x00\x00\x07usual"))
        found = story.group(meanwhile=lambda: move_on(story, member))
        assert found.keys() == {"group-stuck"}
        assert (
            "1 partition with unread records. The member made progress on 1 other partition"
            in found["group-stuck"].sentence
        )

    run_story(body, topics={"t": 2})
