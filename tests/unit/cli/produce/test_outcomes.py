"""What became of records and rows: counts, the first failure of each partition, and what is kept."""

from kctl.cli.produce.outcomes import Outcomes
from kctl.cli.produce.undelivered import UndeliveredRecord
from kctl.client.cluster import TopicPartition
from kctl.client.errors import KafkaError
from kctl.client.producer import SettledRows
from kctl.client.producer.future import Outcome
from kctl.client.records import Rows


def _rows(partition: int, first: int, end: int, error: KafkaError | None, *, is_unknown: bool = False) -> SettledRows:
    columns = Rows([b"a", None, b"c"], [None, b"k", None], [(), (), [("h", None)]], [0, 0, 9], None, 7)
    return SettledRows(
        TopicPartition("t", partition), Outcome(error, is_unknown=is_unknown), 10 * first, lambda: columns, first, end
    )


def test_rows_are_counted_and_those_not_delivered_are_kept_in_order() -> None:
    announced: list[tuple[TopicPartition, str]] = []
    outcomes = Outcomes(lambda: 100, lambda partition, error: announced.append((partition, str(error))))
    outcomes.on_rows(_rows(0, 0, 3, None))
    assert (outcomes.delivered, outcomes.undelivered, outcomes.oldest_ms, outcomes.has_failed) == (3, 0, None, False)
    outcomes.on_rows(_rows(0, 1, 3, KafkaError("no"), is_unknown=True))
    outcomes.on_rows(_rows(0, 0, 1, KafkaError("again")))
    outcomes.on_rows(_rows(-1, 0, 1, KafkaError("nowhere")))
    assert (outcomes.delivered, outcomes.undelivered, outcomes.oldest_ms, outcomes.has_failed) == (3, 4, 100, True)
    assert announced == [(TopicPartition("t", 0), "no"), (TopicPartition("t", -1), "nowhere")]
    kept: list[UndeliveredRecord] = []
    outcomes.pop_failed(kept.append)
    assert kept == [
        UndeliveredRecord("t", 0, 7, b"k", None, (), "no", perhaps_written=True),
        UndeliveredRecord("t", 0, 7, None, b"c", [("h", None)], "no", perhaps_written=True),
        UndeliveredRecord("t", 0, 7, None, b"a", (), "again"),
        UndeliveredRecord("t", None, 7, None, b"a", (), "nowhere"),
    ]
    assert not outcomes.has_failed


def test_a_clock_that_is_a_millisecond_behind_makes_no_negative_age() -> None:
    outcomes = Outcomes(lambda: 9, lambda *_: None)
    outcomes.on_rows(_rows(0, 1, 2, KafkaError("no")))  # accepted at 10
    assert outcomes.oldest_ms == 0
