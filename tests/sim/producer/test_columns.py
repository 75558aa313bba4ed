"""send_columns in virtual time: as if each row had been sent alone, whatever happens on the way, by the deadline."""

from collections.abc import Callable, Sequence
from itertools import pairwise

import pytest

from kctl.client.broker_errors import ErrorCode, error_class
from kctl.client.errors import (
    AbortableTransactionError,
    DeliveryTimeout,
    FlushTimeout,
    IllegalStateError,
    MaxBlockTimeout,
    RecordTooLargeError,
    ResultTimeout,
    UndeliveredError,
)
from kctl.client.producer import Producer, SendFuture, SettledRows
from kctl.client.records import Lines, PackedColumn, partition_of_key
from kctl.sandbox import ClusterSettings, Fault
from tests.sim.kit import SimCluster, run
from tests.sim.kit.transactions import VERSIONS, run_version, seen, transactional
from tests.unit.records.column_contents import packed_column

FAULTS = [Fault.FREEZE, Fault.RESET_ON_REQUEST, Fault.SILENCE]


def numbers(first: int, end: int) -> list[bytes | None]:
    return [b"%d" % number for number in range(first, end)]


def lines(first: int, end: int) -> Lines:
    """Return numbers as lines of a file: encoded in place if they fill half a batch."""
    return Lines(b"".join(b"%d\n" % number for number in range(first, end)), b"\n")


def packed(first: int, end: int) -> PackedColumn:
    """Return numbers as an Arrow array, encoded in place."""
    return packed_column(numbers(first, end))


Column = Callable[[int, int], Sequence[bytes | None]]
in_every_form = pytest.mark.parametrize("column", [numbers, lines, packed])


@in_every_form
def test_rows_and_single_records_of_a_partition_stay_in_order(column: Column) -> None:
    def app(cluster: SimCluster) -> None:
        with cluster.producer({"batch.size": 300}) as producer:
            producer.send("t", b"0")
            columns = producer.send_columns("t", column(1, 500))
            producer.send("t", b"500")
            more = producer.send_columns("t", column(501, 502), partition=0)
            last = producer.send("t", b"502", partition=0)
            producer.flush()
            assert (columns.done(), columns.delivered, columns.result(0), more.result(0)) == (True, 499, 499, 1)
            assert last.result(0).offset == 502
            assert producer.metrics().topics["t"].records_delivered == 503
        result = producer.close()
        ((_, part),) = result.partitions.items()
        assert (part.delivered, part.last_offset) == (503, 502)

    assert run(app).values(0) == numbers(0, 503)


@pytest.mark.parametrize("compression", ["none", "zstd"])
def test_every_column_arrives(compression: str) -> None:
    def app(cluster: SimCluster) -> None:
        with cluster.producer({"compression.type": compression}) as producer:
            producer.send_columns(
                "t", [b"a", None], [None, b"k"], headers=[[("h", None)], ()], timestamps_ms=[5, None]
            ).result()
            now_ms = cluster.clock.wall_ms()
            producer.send_columns("t", [b"c"], timestamps_ms=7).result()
        found = cluster.records(0)
        assert [(each.value, each.key, tuple(each.headers)) for each in found] == [
            (b"a", None, (("h", None),)),
            (None, b"k", ()),
            (b"c", None, ()),
        ]
        assert found[0].timestamp_ms == 5
        assert found[2].timestamp_ms == 7
        assert 0 <= now_ms - found[1].timestamp_ms < 100

    run(app)


@pytest.mark.parametrize("form", [list, packed_column])
@pytest.mark.parametrize("is_known", [True, False])
@pytest.mark.parametrize("batch_bytes", [16384, 1000, 100])
def test_keys_choose_as_they_do_for_single_records(
    form: Callable[[Sequence[bytes | None]], Sequence[bytes | None]], batch_bytes: int, *, is_known: bool
) -> None:
    keys: list[bytes | None] = [b"k%d" % number for number in range(200)]

    def app(cluster: SimCluster) -> None:
        with cluster.producer({"batch.size": batch_bytes}) as producer:
            if is_known:
                producer.partitions_for("t")
            producer.send_columns("t", form(numbers(0, 200)), form(keys)).result()

    cluster = run(app, topics={"t": 7})
    for partition in range(7):
        wanted = [b"%d" % n for n, key in enumerate(keys) if key is not None and partition_of_key(key, 7) == partition]
        assert cluster.values(partition) == wanted


def test_rows_without_keys_go_about_a_batch_to_a_partition() -> None:
    keys: list[bytes | None] = [b"k" if number % 10 == 0 else None for number in range(1000)]

    def app(cluster: SimCluster) -> None:
        with cluster.producer({"batch.size": 1000}) as producer:
            producer.send_columns("t", numbers(0, 1000)).result()
            producer.send_columns("u", numbers(0, 1000), keys).result()

    cluster = run(app, topics={"t": 3, "u": 3})
    found = [cluster.values(partition) for partition in range(3)]
    assert sorted(value or b"" for values in found for value in values) == sorted(b"%d" % n for n in range(1000))
    assert all(found), "every partition had its turn"
    leaps = sum(int(after or 0) != int(before or 0) + 1 for values in found for before, after in pairwise(values))
    assert leaps < 30
    mine = partition_of_key(b"k", 3)
    assert {b"%d" % number for number in range(0, 1000, 10)} <= set(cluster.values(mine, "u"))
    assert sum(len(cluster.values(partition, "u")) for partition in range(3)) == 1000


def test_round_robin_takes_turns_by_the_row() -> None:
    def app(cluster: SimCluster) -> None:
        with cluster.producer({"partitioner.class": "round_robin"}) as producer:
            producer.send_columns("t", numbers(0, 30)).result()

    cluster = run(app, topics={"t": 3})
    assert [len(cluster.values(partition)) for partition in range(3)] == [10, 10, 10]


def test_a_partition_that_is_not_there_fails_its_rows_alone() -> None:
    def app(cluster: SimCluster) -> None:
        with cluster.producer({"max.block.ms": 500}) as producer:
            producer.send("t", b"0").result()
            with pytest.raises(error_class(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)):
                producer.send_columns("t", numbers(0, 3), partition=1)
            producer.send_columns("t", numbers(1, 3), partition=0).result()

    assert run(app).values(0) == numbers(0, 3)


@pytest.mark.parametrize(
    "values",
    [
        [b"", bytes(1000), bytes(2000)],
        Lines(b"\n" + bytes(1000) + b"\n" + bytes(2000) + b"\n", b"\n"),
        packed_column([b"", bytes(1000), bytes(2000)]),
    ],
)
def test_a_row_that_is_too_large_is_named_and_none_is_sent(values: Sequence[bytes]) -> None:
    def app(cluster: SimCluster) -> None:
        with cluster.producer({"max.request.size": 1000}) as producer:
            with pytest.raises(RecordTooLargeError, match=r"max\.request\.size is 1000") as caught:
                producer.send_columns("t", values)
            assert caught.value.row == 1
            with pytest.raises(TypeError, match="row 1"):
                producer.send_columns("t", [b"", "text"])  # type: ignore[list-item]  # the wrong type is the point

    assert run(app).values(0) == []


@pytest.mark.parametrize(
    "values", [[bytes(100)] * 500, Lines((bytes(100) + b"\n") * 500, b"\n"), packed_column([bytes(100)] * 500)]
)
def test_a_batch_of_rows_that_the_broker_finds_too_large_is_split(values: Sequence[bytes]) -> None:
    def app(cluster: SimCluster) -> None:
        with cluster.producer({"batch.size": 100_000}) as producer:
            assert producer.send_columns("t", values).result() == 500
            assert producer.metrics().batches_split > 0

    cluster = run(app, settings=ClusterSettings(message_max_bytes=10_000))
    assert cluster.values(0) == [bytes(100)] * 500


# --- limits -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("timeout_ms", [100, 1000])
def test_the_whole_call_blocks_at_most_max_block_ms_and_says_how_many_rows_it_took(timeout_ms: int) -> None:
    def app(cluster: SimCluster) -> None:
        producer = cluster.producer(
            {
                "max.block.ms": timeout_ms,
                "buffer.memory": 20_000,
                "max.request.size": 20_000,
                "batch.size": 1000,
            }
        )
        producer.send("t", b"first").result()
        cluster.sandbox.start_fault(cluster.leader(0), Fault.FREEZE)
        cluster.at(timeout_ms // 2, cluster.sandbox.heal)
        cluster.at(timeout_ms // 2 + 5, lambda: cluster.break_all(Fault.FREEZE))
        before_ms = cluster.clock.now_ms()
        with pytest.raises(MaxBlockTimeout, match=r"buffer\.memory") as caught:
            producer.send_columns("t", [b"x" * 10] * 100_000)
        assert cluster.clock.now_ms() - before_ms == timeout_ms
        accepted = caught.value.accepted
        assert 0 < accepted < 100_000
        result = producer.close(0)
        assert result.delivered + result.undelivered == accepted + 1

    run(app)


@in_every_form
@pytest.mark.parametrize("fault", FAULTS)
def test_rows_expire_on_their_millisecond_with_a_cause(fault: Fault, column: Column) -> None:
    def app(cluster: SimCluster) -> None:
        producer = cluster.producer({"delivery.timeout.ms": 3000, "request.timeout.ms": 1000, "batch.size": 1000})
        producer.send("t", b"first").result()
        cluster.break_all(fault)
        before_ms = cluster.clock.now_ms()
        columns = producer.send_columns("t", column(0, 400))
        with pytest.raises(UndeliveredError) as caught:
            columns.result()
        assert cluster.clock.now_ms() - before_ms == 3000
        assert caught.value.undelivered == 400
        assert isinstance(caught.value.cause, DeliveryTimeout)
        result = producer.close(0)
        assert (result.delivered, result.undelivered) == (1, 400)

    run(app)


@in_every_form
def test_result_and_flush_end_at_their_timeouts_and_the_rows_go_on(column: Column) -> None:
    def app(cluster: SimCluster) -> None:
        producer = cluster.producer()
        producer.send("t", b"first").result()
        cluster.break_all(Fault.FREEZE)
        columns = producer.send_columns("t", column(0, 40))
        before_ms = cluster.clock.now_ms()
        with pytest.raises(ResultTimeout, match="waiting for the delivery of 40 records to t"):
            columns.result(0.2)
        with pytest.raises(FlushTimeout) as caught:
            producer.flush(0.3)
        assert caught.value.undelivered == 40
        assert cluster.clock.now_ms() - before_ms == 500
        cluster.sandbox.heal()
        assert columns.result() == 40
        producer.close()

    assert run(app).values(0) == [b"first", *numbers(0, 40)]


@in_every_form
def test_close_accounts_for_every_row(column: Column) -> None:
    def app(cluster: SimCluster) -> None:
        producer = cluster.producer({"batch.size": 500})
        producer.send("t", b"first").result()
        cluster.break_all(Fault.FREEZE)
        columns = producer.send_columns("t", column(0, 400))
        cluster.hub.sleep_ms(10)
        result = producer.close(0.1)
        assert (result.delivered, result.undelivered) == (1, 400)
        assert result.unknown > 0, "some batches were sent"
        assert result.failed > 0, "others were not"
        assert columns.done()
        with pytest.raises(IllegalStateError):
            producer.send_columns("t", [b""])

    run(app)


@in_every_form
def test_no_row_is_lost_or_doubled_when_the_leader_dies_and_comes_back(column: Column) -> None:
    def app(cluster: SimCluster) -> None:
        producer = cluster.producer({"batch.size": 300})
        producer.send("t", b"0").result()
        leader = cluster.leader(0)
        cluster.at(3, lambda: cluster.sandbox.start_fault(leader, Fault.RESET_ON_REQUEST))
        cluster.at(200, lambda: cluster.sandbox.move_leader("t", 0, 1 if leader != 1 else 2))
        cluster.at(900, cluster.sandbox.heal)
        columns = producer.send_columns("t", column(1, 2000))
        assert columns.result() == 1999
        producer.close()

    assert run(app).values(0) == numbers(0, 2000)


@in_every_form
def test_a_callback_may_send_columns_but_not_wait_for_them(column: Column) -> None:
    found: list[object] = []

    def app(cluster: SimCluster) -> None:
        producer = cluster.producer()

        def again(_: SendFuture) -> None:
            columns = producer.send_columns("t", column(1, 3))
            with pytest.raises(IllegalStateError):
                columns.result()
            found.append(columns)

        producer.send("t", b"0", callback=again)
        producer.flush()
        producer.close()

    assert run(app).values(0) == numbers(0, 3)
    assert len(found) == 1


# --- transactions -----------------------------------------------------------------------------------------------------


@VERSIONS
def test_rows_are_seen_with_their_transaction(version: int) -> None:
    def app(cluster: SimCluster) -> None:
        with transactional(cluster, {"batch.size": 300}) as producer:
            assert_refused(producer)
            producer.begin_transaction()
            producer.send_columns("t", numbers(0, 100))
            assert seen(cluster) == []
            producer.commit_transaction()
            assert seen(cluster) == numbers(0, 100)
            producer.begin_transaction()
            aborted = producer.send_columns("t", numbers(100, 200))
            producer.abort_transaction()
            assert aborted.done()
            assert seen(cluster) == numbers(0, 100)
            producer.begin_transaction()
            with pytest.raises(RecordTooLargeError):
                producer.send_columns("t", [bytes(2 << 20)])
            with pytest.raises(AbortableTransactionError):
                producer.commit_transaction()
            producer.abort_transaction()

    run_version(version, app)


def assert_refused(producer: Producer) -> None:
    with pytest.raises(IllegalStateError):
        producer.send_columns("t", [b""])


@pytest.mark.parametrize("fault", FAULTS)
def test_the_callback_is_told_of_every_row_once(fault: Fault) -> None:
    delivered: list[bytes | None] = []
    failed: list[bytes | None] = []

    def take(rows: SettledRows) -> None:
        values = [record.value for record in rows.records()]
        assert len(values) == rows.count
        (delivered if rows.outcome.error is None else failed).extend(values)

    def app(cluster: SimCluster) -> None:
        with cluster.producer({"batch.size": 300, "delivery.timeout.ms": 3000, "request.timeout.ms": 1000}) as producer:
            first = producer.send_columns("t", numbers(0, 400), callback=take)
            first.result()
            assert delivered == numbers(0, 400)
            cluster.break_all(fault)
            more = producer.send_columns("t", numbers(400, 900), partition=0, callback=take)
            with pytest.raises(UndeliveredError):
                more.result()
            assert (len(failed), len(delivered)) == (more.undelivered, 400 + more.delivered)
            producer.close(0)

    run(app)
    assert sorted([*delivered, *failed], key=lambda value: int(value or 0)) == numbers(0, 900)


@pytest.mark.parametrize("error", [ZeroDivisionError(), SystemExit(7)], ids=repr)
def test_a_callback_that_raises_or_exits_is_logged_and_the_rest_goes_on(
    error: BaseException, caplog: pytest.LogCaptureFixture
) -> None:
    def take(rows: SettledRows) -> None:
        raise error

    def app(cluster: SimCluster) -> None:
        with cluster.producer() as producer:
            assert producer.send_columns("t", numbers(0, 10), callback=take).result() == 10
            assert producer.send_columns("t", numbers(10, 20)).result() == 10

    run(app)
    assert "the callback of SettledRows(t-0, 10 records) raised an exception. The producer continues" in caplog.text
