"""Idempotence with several batches of a partition on their way: numbers, order, gaps and new epochs."""

import pytest

from kctl.client.broker_errors import ErrorCode
from kctl.client.errors import BrokerError, ConnectionLost, DeliveryTimeout
from kctl.client.producer.future import SendFuture
from kctl.client.protocol.api.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from kctl.client.protocol.api.produce import ProduceRequest
from kctl.sandbox.batches import produced_batch
from tests.unit.fake_network import SentRequest
from tests.unit.metadata_answers import answer, leader, topic
from tests.unit.producer.sending import TOPIC_ID, Setup, error_of, response, said, values_in

PRODUCER_ID = 7
OUT_OF_ORDER = ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER


def idempotent(*, proven: bool = True, **properties: object) -> Setup:
    """A producer with id 7, whose partition 0 has one record acknowledged."""
    setup = Setup(enable_idempotence=True, **properties)
    setup.client.network.set_nodes(setup.client.metadata.cluster.nodes)
    setup.add(b"first")
    setup.sent().answer(InitProducerIdResponse(producer_id=PRODUCER_ID, producer_epoch=0))
    if proven:
        setup.sent().answer(response(said(offset=0)))
    return setup


def on_their_way(setup: Setup, count: int) -> tuple[list[SendFuture], list[SentRequest]]:
    futures = [setup.add(b"%d" % number) for number in range(count)]
    setup.run()
    sent, setup.network.sent = setup.network.sent, []
    return futures, sent


def numbers(sent: SentRequest) -> tuple[int, int, int]:
    """Producer id, epoch and base sequence of a request's one batch, as a broker reads them."""
    assert isinstance(sent.request, ProduceRequest)
    header = produced_batch(sent.request.topic_data[0].partition_data[0].records)
    return header.producer_id, header.producer_epoch, header.base_sequence


def again(setup: Setup) -> SentRequest:
    """The request that follows the longest back-off."""
    setup.clock.advance(1000)
    return setup.sent()


def test_a_broker_that_may_not_know_the_producer_gets_one_batch_alone() -> None:
    """It would take whichever sequence comes first, so a second batch could overtake the first one's repeat."""
    setup = idempotent(proven=False)
    setup.add(b"second")
    setup.run()
    first = setup.network.take()
    assert setup.network.sent == []
    first.answer(response(said()))
    setup.add(b"third")
    setup.run()
    assert [values_in(sent) for sent in setup.network.sent] == [[b"second"], [b"third"]]


def test_each_record_has_its_number() -> None:
    _, sent = on_their_way(idempotent(), 5)
    assert [numbers(each) for each in sent] == [(PRODUCER_ID, 0, number) for number in range(1, 6)]


def test_a_failed_batch_holds_back_those_behind_it_which_keep_their_numbers() -> None:
    setup = idempotent()
    futures, sent = on_their_way(setup, 3)
    sent[0].answer(response(said(ErrorCode.NOT_ENOUGH_REPLICAS)))
    sent[1].answer(response(said(OUT_OF_ORDER)))
    sent[2].answer(response(said(OUT_OF_ORDER)))
    setup.add(b"later")
    order = []
    for number in range(4):
        request = again(setup)
        setup.run()
        assert setup.network.sent == [] or number == 3, "one at a time until the failed one is resolved"
        order.append((values_in(request), numbers(request)))
        request.answer(response(said(offset=10 + number)))
    assert order == [([value], (7, 0, at)) for at, value in enumerate((b"0", b"1", b"2", b"later"), start=1)]
    assert [future.result(0).offset for future in futures] == [10, 11, 12]


def test_those_behind_a_failed_batch_do_not_use_up_their_retries() -> None:
    setup = idempotent(retries=1)
    futures, sent = on_their_way(setup, 2)
    sent[0].answer(response(said(ErrorCode.NOT_ENOUGH_REPLICAS)))
    sent[1].answer(response(said(OUT_OF_ORDER)))
    again(setup).answer(response(said()))
    again(setup).answer(response(said(ErrorCode.NOT_ENOUGH_REPLICAS)))
    again(setup).answer(response(said()))
    assert [future.exception(0) for future in futures] == [None, None]


def test_a_recognised_repeat_is_delivered_without_an_offset() -> None:
    setup = idempotent()
    futures, sent = on_their_way(setup, 2)
    for each in sent:
        each.fail(ConnectionLost("gone"))
    again(setup).answer(response(said(ErrorCode.DUPLICATE_SEQUENCE_NUMBER)))
    again(setup).answer(response(said(offset=9)))
    assert [future.result(0).offset for future in futures] == [-1, 9]


def test_a_gap_before_the_oldest_batch_starts_a_new_epoch_for_it_and_all_behind_it() -> None:
    setup = idempotent()
    futures, sent = on_their_way(setup, 3)
    for each in sent:
        each.answer(response(said(OUT_OF_ORDER)))
    setup.add(b"later")
    seen = []
    for number in range(4):
        request = again(setup)
        seen.append((values_in(request), numbers(request)))
        request.answer(response(said(offset=20 + number)))
    assert seen == [([value], (7, 1, at)) for at, value in enumerate((b"0", b"1", b"2", b"later"))]
    assert all(future.exception(0) is None for future in futures)
    assert setup.counters.epochs_begun == 1


def test_new_epoch_is_written_to_a_batch_whose_sequence_stays_0() -> None:
    setup = idempotent(proven=False)
    futures = [setup.add(b"second"), setup.add(b"third")]
    setup.run()
    setup.network.take().answer(response(said(OUT_OF_ORDER)))
    seen = []
    for number in range(3):
        request = again(setup)
        seen.append((values_in(request), numbers(request)))
        request.answer(response(said(offset=number)))
    assert seen == [([value], (7, 1, at)) for at, value in enumerate((b"first", b"second", b"third"))]
    assert [future.exception(0) for future in futures] == [None, None]


def test_nothing_is_numbered_anew_while_anything_is_on_its_way() -> None:
    setup = idempotent()
    _, sent = on_their_way(setup, 3)
    sent[0].answer(response(said(OUT_OF_ORDER)))
    setup.clock.advance(5000)
    setup.run()
    assert setup.network.sent == []
    sent[1].answer(response(said(OUT_OF_ORDER)))
    sent[2].fail(ConnectionLost("gone"))
    assert numbers(again(setup)) == (7, 1, 0)


def test_a_new_epoch_in_one_partition_is_none_in_another() -> None:
    setup = idempotent()
    setup.add(b"other", partition=1)
    setup.sent().answer(response(said(partition=1)))
    _, sent = on_their_way(setup, 1)
    sent[0].answer(response(said(OUT_OF_ORDER)))
    assert numbers(again(setup)) == (7, 1, 0)
    setup.add(b"other", partition=1)
    request = again(setup)
    assert (values_in(request, 1), numbers(request)) == ([b"other"], (7, 0, 1))


def test_a_batch_that_fails_for_good_gives_its_numbers_to_those_behind_it() -> None:
    setup = idempotent()
    futures, sent = on_their_way(setup, 2)
    sent[1].answer(response(said(OUT_OF_ORDER)))
    sent[0].answer(response(said(ErrorCode.INVALID_RECORD)))
    assert error_of(futures[0]).code == ErrorCode.INVALID_RECORD
    request = again(setup)
    assert (values_in(request), numbers(request)) == ([b"1"], (7, 0, 1))
    assert setup.deliveries.result({})[1:3] == (1, 0)
    assert setup.counters.epochs_begun == 0


def test_a_batch_that_fails_for_good_with_others_on_their_way_leaves_a_gap_that_they_find() -> None:
    setup = idempotent()
    futures, sent = on_their_way(setup, 2)
    sent[0].answer(response(said(ErrorCode.INVALID_RECORD)))
    sent[1].answer(response(said(OUT_OF_ORDER)))
    request = again(setup)
    assert (values_in(request), numbers(request)) == ([b"1"], (7, 1, 0))
    request.answer(response(said(offset=5)))
    assert futures[1].result(0).offset == 5


def test_pieces_of_a_batch_that_is_too_large_go_before_those_behind_it_with_the_numbers_of_their_records() -> None:
    setup = idempotent(batch_size=400)
    whole = [setup.add(b"%d" % number + bytes(60)) for number in range(4)]
    behind = [setup.add(b"%d" % number + bytes(60)) for number in range(4, 8)]
    setup.run()
    sent, setup.network.sent = setup.network.sent, []
    assert [numbers(each)[2] for each in sent] == [1, 5]
    sent[0].answer(response(said(ErrorCode.MESSAGE_TOO_LARGE)))
    sent[1].answer(response(said(OUT_OF_ORDER)))
    seen = []
    offset = 1
    while not all(future.done() for future in behind):
        request = again(setup)
        values = [value[:1] for value in values_in(request) if value is not None]
        seen += values
        assert numbers(request) == (7, 0, offset)
        request.answer(response(said(offset=offset)))
        offset += len(values)
    assert seen == [b"%d" % number for number in range(8)]
    assert [future.result(0).offset for future in whole + behind] == list(range(1, 9))
    assert setup.counters.batches_split == 1


def test_out_of_order_batch_waits_for_all_pieces_of_the_batch_before_it() -> None:
    setup = idempotent(batch_size=400)
    for number in range(8):
        setup.add(b"%d" % number + bytes(60))
    setup.run()
    sent, setup.network.sent = setup.network.sent, []
    sent[0].answer(response(said(ErrorCode.MESSAGE_TOO_LARGE)))
    sent[1].answer(response(said(OUT_OF_ORDER)))
    setup.clock.advance(1000)
    setup.run()
    pieces, setup.network.sent = setup.network.sent, []
    assert [value[:1] for each in pieces for value in values_in(each) if value] == [b"0", b"1", b"2", b"3"]
    for each in pieces:
        setup.run()
        assert setup.network.sent == []
        each.answer(response(said()))
    assert numbers(setup.sent()) == (7, 0, 5)


def test_nothing_goes_to_a_new_leader_while_the_old_one_has_a_batch() -> None:
    setup = idempotent()
    _, (sent,) = on_their_way(setup, 1)
    metadata = setup.client.metadata
    metadata.begin(0)
    metadata.take(answer(topic("t", leader(0, 2), leader(1, 1), leader(2, 2), topic_id=TOPIC_ID)), 0)
    setup.add(b"behind")
    setup.run()
    assert setup.network.sent == []
    sent.answer(response(said(ErrorCode.NOT_LEADER_OR_FOLLOWER)))
    for value in (b"0", b"behind"):
        request = again(setup)
        assert (request.node_id, values_in(request)) == (2, [value])
        request.answer(response(said()))


def test_an_expired_batch_on_its_way_keeps_its_place_until_its_answer() -> None:
    """Its numbers may be used or not: before that is known, nothing behind it can be numbered for good."""
    setup = idempotent(request_timeout_ms=1000, delivery_timeout_ms=1500)
    (first,), (sent,) = on_their_way(setup, 1)
    setup.clock.advance(1000)
    second = setup.add(b"second")
    behind = setup.sent()
    setup.clock.advance(500)
    setup.expire()
    assert isinstance(first.exception(0), DeliveryTimeout)
    assert not second.done()
    sent.answer(response(said(offset=1)))
    behind.answer(response(said(offset=2)))
    assert second.result(0).offset == 2
    assert setup.deliveries.result({})[:3] == (2, 0, 1)
    setup.add(b"third")
    assert numbers(again(setup)) == (7, 0, 3)
    assert setup.counters.epochs_begun == 0


def test_the_numbers_of_an_expired_batch_on_its_way_are_not_used_again() -> None:
    setup = idempotent(request_timeout_ms=1000, delivery_timeout_ms=1500)
    _, (sent,) = on_their_way(setup, 1)
    setup.clock.advance(1500)
    setup.expire()
    setup.add(b"next")
    assert numbers(setup.sent()) == (7, 0, 2)
    sent.answer(response(said(offset=1)))
    assert setup.counters.epochs_begun == 0


def test_an_expired_batch_that_was_lost_makes_those_behind_it_start_anew() -> None:
    setup = idempotent(request_timeout_ms=1000, delivery_timeout_ms=1500)
    (first,), (sent,) = on_their_way(setup, 1)
    setup.clock.advance(1000)
    second = setup.add(b"second")
    behind = setup.sent()
    setup.clock.advance(500)
    setup.expire()
    sent.fail(ConnectionLost("gone"))
    behind.fail(ConnectionLost("gone"))
    assert first.done()
    request = again(setup)
    assert numbers(request) == (7, 0, 2), "as it was: the lost one may be written after all"
    request.answer(response(said(OUT_OF_ORDER)))
    setup.clock.advance(200)
    request = setup.sent()
    assert numbers(request) == (7, 1, 0)
    request.answer(response(said(offset=8)))
    assert second.result(0).offset == 8


def test_a_lost_batch_with_nothing_behind_it_is_followed_by_a_new_epoch() -> None:
    setup = idempotent(request_timeout_ms=1000, delivery_timeout_ms=1500)
    _, (sent,) = on_their_way(setup, 1)
    sent.fail(ConnectionLost("gone"))
    setup.clock.advance(1500)
    setup.expire()
    setup.add(b"next")
    assert numbers(again(setup)) == (7, 1, 0)


def test_batch_of_unknown_fate_is_not_renumbered_for_a_broker_that_forgot_the_producer() -> None:
    setup = idempotent()
    futures, sent = on_their_way(setup, 2)
    sent[0].fail(ConnectionLost("gone"))
    sent[1].answer(response(said(OUT_OF_ORDER)))
    again(setup).answer(response(said(ErrorCode.UNKNOWN_PRODUCER_ID)))
    assert error_of(futures[0]).code == ErrorCode.UNKNOWN_PRODUCER_ID
    assert setup.deliveries.result({})[:3] == (1, 0, 1)
    request = again(setup)
    assert (values_in(request), numbers(request)) == ([b"1"], (7, 1, 0))


def test_batch_of_unknown_fate_is_not_renumbered_when_nothing_before_it_is_missing() -> None:
    """A broker that has it would recognise it; one that calls it out of order all the same has lost something."""
    setup = idempotent()
    futures, sent = on_their_way(setup, 1)
    sent[0].fail(ConnectionLost("gone"))
    again(setup).answer(response(said(OUT_OF_ORDER)))
    assert error_of(futures[0]).code == OUT_OF_ORDER
    assert setup.deliveries.result({})[:3] == (1, 0, 1)
    setup.add(b"next")
    assert numbers(again(setup)) == (7, 1, 0)


def test_a_broker_that_has_forgotten_the_producer_gets_a_new_epoch() -> None:
    setup = idempotent()
    futures, sent = on_their_way(setup, 2)
    sent[0].answer(response(said(ErrorCode.UNKNOWN_PRODUCER_ID)))
    sent[1].answer(response(said(ErrorCode.UNKNOWN_PRODUCER_ID)))
    for number in range(2):
        request = again(setup)
        assert numbers(request) == (7, 1, number)
        request.answer(response(said(offset=number)))
    assert [future.result(0).offset for future in futures] == [0, 1]


def test_a_refused_epoch_fails_the_batch_and_the_next_goes_under_another() -> None:
    setup = idempotent()
    futures, sent = on_their_way(setup, 2)
    for each in sent:
        each.answer(response(said(ErrorCode.INVALID_PRODUCER_EPOCH)))
    assert [isinstance(future.exception(0), BrokerError) for future in futures] == [True, True]
    setup.add(b"next")
    assert numbers(again(setup)) == (7, 1, 0)


def test_used_up_epochs_bring_a_new_producer_id() -> None:
    setup = idempotent()
    queue = setup.accumulator.queues("t")[0]
    queue.sequence.epoch = 2**15 - 1
    (future,), (sent,) = on_their_way(setup, 1)
    sent.answer(response(said(OUT_OF_ORDER)))
    asked = again(setup)
    assert isinstance(asked.request, InitProducerIdRequest)
    asked.answer(InitProducerIdResponse(producer_id=8, producer_epoch=0))
    request = again(setup)
    assert numbers(request) == (8, 0, 0)
    request.answer(response(said(offset=3)))
    assert future.result(0).offset == 3


@pytest.mark.parametrize(("idempotence", "window", "moves_on"), [(True, 5, False), (False, 1, False), (False, 5, True)])
def test_no_batch_overtakes_one_that_the_old_leader_still_has(idempotence: bool, window: int, moves_on: bool) -> None:
    if idempotence:
        setup = idempotent(max_in_flight_requests_per_connection=window)
    else:
        setup = Setup(max_in_flight_requests_per_connection=window)
    _, (sent,) = on_their_way(setup, 1)
    queue = setup.accumulator.queues("t")[0]
    assert sent.node_id == 1
    assert queue.may_go_to(1)
    assert queue.may_go_to(2) == moves_on


def test_records_that_expire_in_a_batch_with_others_behind_it_on_their_way_may_still_be_written() -> None:
    """The batch has to go as it is, or the numbers behind it would be wrong: so their fate is open."""
    setup = idempotent(request_timeout_ms=500, delivery_timeout_ms=1000, batch_size=230)
    early = setup.add(b"early" + bytes(60))
    setup.clock.advance(600)
    late = setup.add(b"late" + bytes(60))
    setup.add(b"behind" + bytes(60))
    setup.run()
    sent, setup.network.sent = setup.network.sent, []
    assert len(sent) == 2
    sent[0].answer(response(said(ErrorCode.NOT_ENOUGH_REPLICAS)))
    setup.clock.advance(400)
    setup.expire()
    assert isinstance(early.exception(0), DeliveryTimeout)
    assert setup.deliveries.result({})[1:3] == (0, 1)
    sent[1].answer(response(said(OUT_OF_ORDER)))
    request = setup.sent()
    assert [value[:4] for value in values_in(request) if value] == [b"earl", b"late"]
    request.answer(response(said(offset=6)))
    assert late.result(0).offset == 7


@pytest.mark.parametrize("closes", [False, True])
def test_nothing_is_sent_behind_the_callback_that_closed_the_producer(closes: bool) -> None:
    """close() has told what becomes of all that is left, and there it is said not to be written."""
    setup = idempotent()

    def close(_: SendFuture) -> None:
        setup.sender.is_over = closes

    setup.add(b"1")
    setup.add(b"2", callback=close)
    setup.run()
    for sent in [setup.network.take(), setup.network.take()]:
        sent.fail(ConnectionLost("the connection is gone"))
    again(setup).answer(response(said(ErrorCode.UNKNOWN_PRODUCER_ID)))
    setup.add(b"elsewhere", partition=1)
    setup.run()
    assert [values_in(sent, 1) for sent in setup.network.sent] == ([] if closes else [[b"elsewhere"]])
