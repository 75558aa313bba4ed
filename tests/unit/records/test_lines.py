"""Lines as a column: what they are, and where they begin and end."""

from hypothesis import given
from hypothesis import strategies as st

from kctl.client.records import BatchReader, Lines, RecordBatchBuilder

data = st.lists(st.sampled_from([b"a", b"bb", b"\n", b"\n", b"-\n", b"c" * 60]), max_size=30).map(b"".join)


@given(data, st.sampled_from([b"\n", b"-\n"]), st.sampled_from([b"", b"x", b"x" * 99]))
def test_lines_are_a_sequence_of_what_stands_before_the_delimiters(data: bytes, delimiter: bytes, begun: bytes) -> None:
    lines = Lines(data, delimiter, begun)
    *expected, rest = data.split(delimiter)
    if expected:
        expected[0] = begun + expected[0]
    assert list(lines) == [lines[row] for row in range(len(lines))] == lines[:] == expected
    assert bool(lines) is bool(expected)
    assert lines.rest() == rest
    assert lines.longest_bytes == max(map(len, expected), default=0)
    assert lines.total_bytes == sum(map(len, expected))


@given(data, st.sampled_from([b"\n", b"-\n"]), st.sampled_from([b"", b"x"]), st.integers(8, 200), st.integers(1, 9))
def test_encoded_from_one_place_after_the_other_lines_are_the_same(
    data: bytes, delimiter: bytes, begun: bytes, room_bytes: int, most: int
) -> None:
    lines = Lines(data, delimiter, begun)
    found: list[bytes | None] = []
    at = 0
    while at < lines.behind:
        records, count, end = lines.encoded_from(at, room_bytes, most)
        assert 0 < count <= most
        between = lines.between(at, end)
        assert lines.content_bytes(at, end, count) == sum(map(len, between))
        builder = RecordBatchBuilder()
        builder.set_records(records, count, 5)
        found += [record.value for record in BatchReader(builder.build()).records(count)]
        assert found[-count:] == between
        at = end
    assert found == list(lines)
