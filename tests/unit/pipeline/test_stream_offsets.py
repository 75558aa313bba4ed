"""Offsets of streams: as Spark keeps them, within the limit of a batch, and the errors of a reader that was refused."""

import pickle

import pytest

from kctl.client.cluster import TopicPartition
from kctl.pipeline.source.failures import MARK, SourceError, reason, reported_in_one_line, source_error
from kctl.pipeline.source.options import read_options
from kctl.pipeline.source.stream_offsets import StreamOffsets, as_json, as_offsets
from kctl.pipeline.source.stream_reader import KctlStreamReader, RefusedStreamReader, share_out

T = [TopicPartition("t", n) for n in range(3)]


def test_offsets_are_sorted_and_come_back() -> None:
    offsets = {TopicPartition("b", 10): 5, TopicPartition("b", 9): 4, TopicPartition("a", 0): 3}
    bare = StreamOffsets(offsets, {}, {})
    assert str(as_json(bare)) == "{'a': {'0': 3}, 'b': {'9': 4, '10': 5}}", "as Spark's connector writes them"
    assert as_offsets(as_json(bare)) == bare
    known = StreamOffsets(offsets, {"b": "id-b", "a": "id-a"}, {tp: offset + 1 for tp, offset in offsets.items()})
    assert as_offsets(as_json(known)) == known
    assert str(as_json(known)).endswith(
        "'#topic_ids': {'a': 'id-a', 'b': 'id-b'}, '#log_ends': {'a': {'0': 4}, 'b': {'9': 5, '10': 6}}}"
    )


@pytest.mark.parametrize("most", [1, 2, 3, 7, 10, 99, 100, 1000])
def test_a_limit_is_shared_out_by_what_waits(most: int) -> None:
    begin = {T[0]: 0, T[1]: 50, T[2]: 7}
    end = {T[0]: 90, T[1]: 60, T[2]: 7}
    found = share_out(begin, end, most)
    taken = {tp: found[tp] - begin[tp] for tp in T}
    assert taken[T[2]] == 0
    assert all(0 < taken[tp] <= end[tp] - begin[tp] for tp in T[:2])
    assert sum(taken.values()) <= max(most, 2), "more than was allowed, and not for lack of partitions"
    if most >= 100:
        assert found == end
    if most == 10:
        assert taken[T[0]] == 9


def test_limited_batches_come_to_the_end() -> None:
    at, end, turns = {T[0]: 0, T[1]: 0}, {T[0]: 1000, T[1]: 3}, 0
    while at != end:
        at, turns = share_out(at, end, 50), turns + 1
    assert turns <= 22


def test_a_reader_travels_without_its_connection() -> None:
    options = read_options({"kafka.bootstrap.servers": "b:1", "subscribe": "t"}, is_stream=True)
    reader = KctlStreamReader(options, ["value"])
    reader._planner = object()  # type: ignore[assignment]  # stands for a connection, which cannot be pickled
    assert pickle.loads(pickle.dumps(reader))._planner is None


def test_a_refused_reader_raises_whatever_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARK_HIDE_TRACEBACK", "")  # so that it is put back
    reader = RefusedStreamReader(SourceError(f"{MARK} ConfigError: wrong"))
    for ask in (reader.initialOffset, reader.latestOffset, lambda: reader.partitions({}, {})):
        with pytest.raises(SourceError, match="KCTL: ConfigError: wrong"):
            ask()


def test_an_error_is_one_line_and_found_again(monkeypatch: pytest.MonkeyPatch) -> None:
    from kctl.client.errors import ConfigError

    monkeypatch.setenv("SPARK_HIDE_TRACEBACK", "")
    with pytest.raises(SourceError) as caught, reported_in_one_line():
        raise ConfigError("two\nlines")
    assert str(caught.value) == f"{MARK} ConfigError: two\\x0alines"
    around = RuntimeError("[STREAM_FAILED] query")
    around.__cause__ = ValueError(f"at x.y.Z\n  org.apache: {caught.value}\n  at more")
    assert reason(around) == "ConfigError: two\\x0alines"
    assert reason(ValueError("something else")) is None
    assert str(source_error(ConfigError("x"))) == f"{MARK} ConfigError: x"
