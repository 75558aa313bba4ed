import pytest

from kctl.client.consumer.chunk import FetchedChunk, base_offset_behind, offset_after, walk_batches
from tests.unit.consumer.fakes import T0, batch


def test_the_walk_ends_after_the_last_whole_batch() -> None:
    whole = batch(10, 3) + batch(13, 2)
    for cut in range(1, len(batch(15, 1))):
        walk = walk_batches(whole + batch(15, 1)[:cut], 10)
        assert (walk.next_offset, walk.end, walk.damage) == (15, len(whole), "")


def test_the_walk_goes_past_compacted_gaps() -> None:
    assert walk_batches(batch(10, 3, gap=40), 10).next_offset == 53


def test_a_first_batch_from_before_the_fetch_offset_is_normal() -> None:
    assert walk_batches(batch(10, 10), 15).next_offset == 20


@pytest.mark.parametrize(
    ("at", "value", "says"),
    [
        (16, b"\x03", "magic 3"),
        (8, b"\0\0\0\x05", "length 5"),
        (8, b"\xff\xff\xff\xff", "length -1"),
        (0, b"\xff", "invalid batch header"),
    ],
)
def test_an_impossible_header_is_damage_after_what_is_whole(at: int, value: bytes, says: str) -> None:
    bad = bytearray(batch(12, 1))
    bad[at : at + len(value)] = value
    walk = walk_batches(batch(10, 2) + bytes(bad), 10)
    assert (walk.next_offset, walk.end) == (12, len(batch(10, 2)))
    assert says in walk.damage


def test_a_batch_that_ends_before_the_one_in_front_of_it_is_damage() -> None:
    assert "ends at offset 3" in walk_batches(batch(10, 1) + batch(3, 1), 10).damage


def test_a_batch_that_ends_before_the_position_moves_nothing() -> None:
    for last in (3, 9):
        walk = walk_batches(batch(last, 1), 10)
        assert (walk.next_offset, walk.damage) == (10, "")
    assert walk_batches(batch(3, 1) + batch(10, 1), 10).next_offset == 11


def test_old_messages_end_at_their_own_offset() -> None:
    message = (20).to_bytes(8, "big") + (14).to_bytes(4, "big") + bytes(4) + b"\x01" + bytes(9)
    walk = walk_batches(message * 1, 20)
    assert (walk.next_offset, walk.end, walk.damage, walk.leader_epoch) == (21, 26, "", -1)


def test_the_epoch_of_the_last_whole_batch_is_told() -> None:
    newer = bytearray(batch(3, 1))
    newer[12:16] = (9).to_bytes(4, "big")
    assert walk_batches(batch(0, 3), 0).leader_epoch == 7
    assert walk_batches(batch(0, 3) + bytes(newer), 0).leader_epoch == 9
    assert walk_batches(batch(0, 3) + bytes(newer)[:-1], 0).leader_epoch == 7
    assert walk_batches(b"", 0).leader_epoch == -1


def test_where_the_batch_behind_a_damaged_one_begins() -> None:
    bad = bytearray(batch(3, 2))
    bad[16] = 9
    data = batch(0, 3) + bytes(bad) + batch(5, 1)
    at = walk_batches(data, 0).end
    assert base_offset_behind(data, at) == 5
    assert base_offset_behind(data[: at + len(bad)], at) is None
    bad[8:12] = (1 << 30).to_bytes(4, "big")
    assert base_offset_behind(batch(0, 3) + bytes(bad) + batch(5, 1), at) is None


def test_offset_after_names_the_offset_behind_a_batch() -> None:
    data = batch(10, 3) + batch(13, 5, gap=2) + batch(20, 1)
    assert [offset_after(data, base) for base in (10, 13, 20, 99)] == [13, 20, 21, 100]


def test_the_reader_starts_at_the_fetch_offset_and_ends_at_the_stop_offset() -> None:
    chunk = FetchedChunk(T0, 1, 12, 20, batch(10, 10))
    assert [record.offset for record in chunk.reader(stop_offset=15).records()] == [12, 13, 14]
    assert (chunk.topic, chunk.partition) == ("t", 0)
