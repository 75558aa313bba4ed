from kctl.client.clock import FOREVER_MS, ManualClock
from kctl.client.errors import KafkaError
from kctl.client.producer.batch import Batch
from kctl.client.producer.record_run import RecordRun
from kctl.client.protocol.pieces import Pieces
from tests.unit.producer.records import Maker


def batch_at(*created_at_ms: int) -> Batch:
    clock = ManualClock()
    maker = Maker(clock)
    runs: list[RecordRun] = []
    for at_ms in created_at_ms:
        clock.advance(at_ms - clock.now_ms())
        runs.append(maker.sent())
    return Batch(runs, Pieces(b"", b""), -1, 0)


def test_each_record_expires_once_and_on_its_own_millisecond() -> None:
    batch = batch_at(0, 0, 40)
    assert batch.expires_at_ms(1000) == 1000
    assert batch.pop_expired(999, 1000) == []
    assert batch.pop_expired(1000, 1000) == batch.runs[:2]
    assert batch.pop_expired(1039, 1000) == []
    assert batch.expires_at_ms(1000) == 1040
    assert batch.pending() == batch.runs[2:]
    before = batch.is_expired
    assert batch.pop_expired(1040, 1000) == batch.runs[2:]
    assert (before, batch.is_expired) == (False, True)
    assert batch.expires_at_ms(1000) == FOREVER_MS


def test_the_fate_is_unknown_while_in_flight_and_after_a_lost_answer() -> None:
    error = KafkaError("x")
    batch = batch_at(0)
    told = [batch.failure(error).is_unknown]
    batch.sent(1)
    told.append(batch.failure(error).is_unknown)
    batch.is_in_flight = False
    told.append(batch.failure(error).is_unknown)
    batch.may_be_written = True
    told.append(batch.failure(error).is_unknown)
    assert told == [False, True, False, True]
