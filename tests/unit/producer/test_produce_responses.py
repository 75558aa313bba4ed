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
from tests.unit.producer.sending import TOPIC_ID, Scenario, error_of, response, said, values_in

PRODUCER_ID = 7
OUT_OF_ORDER = ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER


def idempotent(*, proven: bool = True, **properties: object) -> Scenario:
    """A producer with id 7, whose partition 0 has one record acknowledged."""
    scenario = Scenario(enable_idempotence=True, **properties)
    scenario.client.network.set_nodes(tuple(scenario.client.metadata.cluster.nodes.values()))
    scenario.add(b"first")
    scenario.sent().answer(InitProducerIdResponse(producer_id=PRODUCER_ID, producer_epoch=0))
    if proven:
        scenario.sent().answer(response(said(offset=0)))
    return scenario


def on_their_way(scenario: Scenario, count: int) -> tuple[list[SendFuture], list[SentRequest]]:
    futures = [scenario.add(b"%d" % number) for number in range(count)]
    scenario.run()
    sent, scenario.network.sent = scenario.network.sent, []
    return futures, sent


def numbers(sent: SentRequest) -> tuple[int, int, int]:
    """Producer id, epoch and base sequence of a request's one batch, as a broker reads them."""
    assert isinstance(sent.request, ProduceRequest)
    header = produced_batch(bytes(sent.request.topic_data[0].partition_data[0].records or b""))
    return header.producer_id, header.producer_epoch, header.base_sequence


def again(scenario: Scenario) -> SentRequest:
    """The request that follows the longest back-off."""
    scenario.clock.advance(1000)
    return scenario.sent()


def test_a_broker_that_may_not_know_the_producer_gets_one_batch_alone() -> None:
    """It would take whichever sequence comes first, so a second batch could overtake the first one's repeat."""
    scenario = idempotent(proven=False)
    scenario.add(b"second")
    scenario.run()
    first = scenario.network.take()
    assert scenario.network.sent == []
    first.answer(response(said()))
    scenario.add(b"third")
    scenario.run()
    assert [values_in(sent) for sent in scenario.network.sent] == [[b"second"], [b"third"]]


def test_each_record_has_its_number() -> None:
    _, sent = on_their_way(idempotent(), 5)
    assert [numbers(each) for each in sent] == [(PRODUCER_ID, 0, number) for number in range(1, 6)]


def test_a_failed_batch_holds_back_those_behind_it_which_keep_their_numbers() -> None:
    scenario = idempotent()
    futures, sent = on_their_way(scenario, 3)
    sent[0].answer(response(said(ErrorCode.NOT_ENOUGH_REPLICAS)))
    sent[1].answer(response(said(OUT_OF_ORDER)))
    sent[2].answer(response(said(OUT_OF_ORDER)))
    scenario.add(b"later")
    order = []
    for number in range(4):
        request = again(scenario)
        scenario.run()
        assert scenario.network.sent == [] or number == 3, "one at a time until the failed one is resolved"
        order.append((values_in(request), numbers(request)))
        request.answer(response(said(offset=10 + number)))
    assert order == [([value], (7, 0, at)) for at, value in enumerate((b"0", b"1", b"2", b"later"), start=1)]
    assert [future.result(0).offset for future in futures] == [10, 11, 12]


def test_those_behind_a_failed_batch_do_not_use_up_their_retries() -> None:
    scenario = idempotent(retries=1)
    futures, sent = on_their_way(scenario, 2)
    sent[0].answer(response(said(ErrorCode.NOT_ENOUGH_REPLICAS)))
    sent[1].answer(response(said(OUT_OF_ORDER)))
    again(scenario).answer(response(said()))
    again(scenario).answer(response(said(ErrorCode.NOT_ENOUGH_REPLICAS)))
    again(scenario).answer(response(said()))
    assert [future.exception(0) for future in futures] == [None, None]


def test_a_recognised_repeat_is_delivered_without_an_offset() -> None:
    scenario = idempotent()
    futures, sent = on_their_way(scenario, 2)
    for each in sent:
        each.fail(ConnectionLost("gone"))
    again(scenario).answer(response(said(ErrorCode.DUPLICATE_SEQUENCE_NUMBER)))
    again(scenario).answer(response(said(offset=9)))
    assert [future.result(0).offset for future in futures] == [-1, 9]


def test_a_gap_before_the_oldest_batch_starts_a_new_epoch_for_it_and_all_behind_it() -> None:
    scenario = idempotent()
    futures, sent = on_their_way(scenario, 3)
    for each in sent:
        each.answer(response(said(OUT_OF_ORDER)))
    scenario.add(b"later")
    seen = []
    for number in range(4):
        request = again(scenario)
        seen.append((values_in(request), numbers(request)))
        request.answer(response(said(offset=20 + number)))
    assert seen == [([value], (7, 1, at)) for at, value in enumerate((b"0", b"1", b"2", b"later"))]
    assert all(future.exception(0) is None for future in futures)
    assert scenario.counters.epochs_begun == 1


def test_new_epoch_is_written_to_a_batch_whose_sequence_stays_0() -> None:
    scenario = idempotent(proven=False)
    futures = [scenario.add(b"second"), scenario.add(b"third")]
    scenario.run()
    scenario.network.take().answer(response(said(OUT_OF_ORDER)))
    seen = []
    for number in range(3):
        request = again(scenario)
        seen.append((values_in(request), numbers(request)))
        request.answer(response(said(offset=number)))
    assert seen == [([value], (7, 1, at)) for at, value in enumerate((b"first", b"second", b"third"))]
    assert [future.exception(0) for future in futures] == [None, None]


def test_nothing_is_numbered_anew_while_anything_is_on_its_way() -> None:
    scenario = idempotent()
    _, sent = on_their_way(scenario, 3)
    sent[0].answer(response(said(OUT_OF_ORDER)))
    scenario.clock.advance(5000)
    scenario.run()
    assert scenario.network.sent == []
    sent[1].answer(response(said(OUT_OF_ORDER)))
    sent[2].fail(ConnectionLost("gone"))
    assert numbers(again(scenario)) == (7, 1, 0)


def test_a_new_epoch_in_one_partition_is_none_in_another() -> None:
    scenario = idempotent()
    scenario.add(b"other", partition=1)
    scenario.sent().answer(response(said(partition=1)))
    _, sent = on_their_way(scenario, 1)
    sent[0].answer(response(said(OUT_OF_ORDER)))
    assert numbers(again(scenario)) == (7, 1, 0)
    scenario.add(b"other", partition=1)
    request = again(scenario)
    assert (values_in(request, 1), numbers(request)) == ([b"other"], (7, 0, 1))


def test_a_batch_that_fails_for_good_gives_its_numbers_to_those_behind_it() -> None:
    scenario = idempotent()
    futures, sent = on_their_way(scenario, 2)
    sent[1].answer(response(said(OUT_OF_ORDER)))
    sent[0].answer(response(said(ErrorCode.INVALID_RECORD)))
    assert error_of(futures[0]).code == ErrorCode.INVALID_RECORD
    request = again(scenario)
    assert (values_in(request), numbers(request)) == ([b"1"], (7, 0, 1))
    assert scenario.deliveries.result({})[1:3] == (1, 0)
    assert scenario.counters.epochs_begun == 0


def test_a_batch_that_fails_for_good_with_others_on_their_way_leaves_a_gap_that_they_find() -> None:
    scenario = idempotent()
    futures, sent = on_their_way(scenario, 2)
    sent[0].answer(response(said(ErrorCode.INVALID_RECORD)))
    sent[1].answer(response(said(OUT_OF_ORDER)))
    request = again(scenario)
    assert (values_in(request), numbers(request)) == ([b"1"], (7, 1, 0))
    request.answer(response(said(offset=5)))
    assert futures[1].result(0).offset == 5


def test_pieces_of_a_batch_that_is_too_large_go_before_those_behind_it_with_the_numbers_of_their_records() -> None:
    scenario = idempotent(batch_size=400)
    whole = [scenario.add(b"%d" % number + bytes(60)) for number in range(4)]
    behind = [scenario.add(b"%d" % number + bytes(60)) for number in range(4, 8)]
    scenario.run()
    sent, scenario.network.sent = scenario.network.sent, []
    assert [numbers(each)[2] for each in sent] == [1, 5]
    sent[0].answer(response(said(ErrorCode.MESSAGE_TOO_LARGE)))
    sent[1].answer(response(said(OUT_OF_ORDER)))
    seen = []
    offset = 1
    while not all(future.done() for future in behind):
        request = again(scenario)
        values = [value[:1] for value in values_in(request) if value is not None]
        seen += values
        assert numbers(request) == (7, 0, offset)
        request.answer(response(said(offset=offset)))
        offset += len(values)
    assert seen == [b"%d" % number for number in range(8)]
    assert [future.result(0).offset for future in whole + behind] == list(range(1, 9))
    assert scenario.counters.batches_split == 1


def test_out_of_order_batch_waits_for_all_pieces_of_the_batch_before_it() -> None:
    scenario = idempotent(batch_size=400)
    for number in range(8):
        scenario.add(b"%d" % number + bytes(60))
    scenario.run()
    sent, scenario.network.sent = scenario.network.sent, []
    sent[0].answer(response(said(ErrorCode.MESSAGE_TOO_LARGE)))
    sent[1].answer(response(said(OUT_OF_ORDER)))
    scenario.clock.advance(1000)
    scenario.run()
    seen: list[bytes] = []
    while len(seen) < 4:
        pieces, scenario.network.sent = scenario.network.sent, []
        assert pieces
        seen += [value[:1] for each in pieces for value in values_in(each) if value]
        for each in pieces:
            scenario.run()
            assert scenario.network.sent == []
            each.answer(response(said()))
        scenario.run()
    assert seen == [b"0", b"1", b"2", b"3"]
    assert numbers(scenario.sent()) == (7, 0, 5)


def test_nothing_goes_to_a_new_leader_while_the_old_one_has_a_batch() -> None:
    scenario = idempotent()
    _, (sent,) = on_their_way(scenario, 1)
    metadata = scenario.client.metadata
    metadata.begin(0)
    metadata.apply(answer(topic("t", leader(0, 2), leader(1, 1), leader(2, 2), topic_id=TOPIC_ID)), 0)
    scenario.add(b"behind")
    scenario.run()
    assert scenario.network.sent == []
    sent.answer(response(said(ErrorCode.NOT_LEADER_OR_FOLLOWER)))
    for value in (b"0", b"behind"):
        request = again(scenario)
        assert (request.node_id, values_in(request)) == (2, [value])
        request.answer(response(said()))


def test_an_expired_batch_on_its_way_keeps_its_place_until_its_answer() -> None:
    """Its numbers may be used or not: before that is known, nothing behind it can be numbered for good."""
    scenario = idempotent(request_timeout_ms=1000, delivery_timeout_ms=1500)
    (first,), (sent,) = on_their_way(scenario, 1)
    scenario.clock.advance(1000)
    second = scenario.add(b"second")
    behind = scenario.sent()
    scenario.clock.advance(500)
    scenario.expire()
    assert isinstance(first.exception(0), DeliveryTimeout)
    assert not second.done()
    sent.answer(response(said(offset=1)))
    behind.answer(response(said(offset=2)))
    assert second.result(0).offset == 2
    assert scenario.deliveries.result({})[:3] == (2, 0, 1)
    scenario.add(b"third")
    assert numbers(again(scenario)) == (7, 0, 3)
    assert scenario.counters.epochs_begun == 0


def test_the_numbers_of_an_expired_batch_on_its_way_are_not_used_again() -> None:
    scenario = idempotent(request_timeout_ms=1000, delivery_timeout_ms=1500)
    _, (sent,) = on_their_way(scenario, 1)
    scenario.clock.advance(1500)
    scenario.expire()
    scenario.add(b"next")
    assert numbers(scenario.sent()) == (7, 0, 2)
    sent.answer(response(said(offset=1)))
    assert scenario.counters.epochs_begun == 0


def test_an_expired_batch_that_was_lost_makes_those_behind_it_start_anew() -> None:
    scenario = idempotent(request_timeout_ms=1000, delivery_timeout_ms=1500)
    (first,), (sent,) = on_their_way(scenario, 1)
    scenario.clock.advance(1000)
    second = scenario.add(b"second")
    behind = scenario.sent()
    scenario.clock.advance(500)
    scenario.expire()
    sent.fail(ConnectionLost("gone"))
    behind.fail(ConnectionLost("gone"))
    assert first.done()
    request = again(scenario)
    assert numbers(request) == (7, 0, 2), "as it was: the lost one may be written after all"
    request.answer(response(said(OUT_OF_ORDER)))
    scenario.clock.advance(200)
    request = scenario.sent()
    assert numbers(request) == (7, 1, 0)
    request.answer(response(said(offset=8)))
    assert second.result(0).offset == 8


def test_a_lost_batch_with_nothing_behind_it_is_followed_by_a_new_epoch() -> None:
    scenario = idempotent(request_timeout_ms=1000, delivery_timeout_ms=1500)
    _, (sent,) = on_their_way(scenario, 1)
    sent.fail(ConnectionLost("gone"))
    scenario.clock.advance(1500)
    scenario.expire()
    scenario.add(b"next")
    assert numbers(again(scenario)) == (7, 1, 0)


def test_batch_of_unknown_fate_is_not_renumbered_for_a_broker_that_forgot_the_producer() -> None:
    scenario = idempotent()
    futures, sent = on_their_way(scenario, 2)
    sent[0].fail(ConnectionLost("gone"))
    sent[1].answer(response(said(OUT_OF_ORDER)))
    again(scenario).answer(response(said(ErrorCode.UNKNOWN_PRODUCER_ID)))
    assert error_of(futures[0]).code == ErrorCode.UNKNOWN_PRODUCER_ID
    assert scenario.deliveries.result({})[:3] == (1, 0, 1)
    request = again(scenario)
    assert (values_in(request), numbers(request)) == ([b"1"], (7, 1, 0))


def test_batch_of_unknown_fate_is_not_renumbered_when_nothing_before_it_is_missing() -> None:
    """A broker that has it would recognise it; one that calls it out of order all the same has lost something."""
    scenario = idempotent()
    futures, sent = on_their_way(scenario, 1)
    sent[0].fail(ConnectionLost("gone"))
    again(scenario).answer(response(said(OUT_OF_ORDER)))
    assert error_of(futures[0]).code == OUT_OF_ORDER
    assert scenario.deliveries.result({})[:3] == (1, 0, 1)
    scenario.add(b"next")
    assert numbers(again(scenario)) == (7, 1, 0)


def test_a_broker_that_has_forgotten_the_producer_gets_a_new_epoch() -> None:
    scenario = idempotent()
    futures, sent = on_their_way(scenario, 2)
    sent[0].answer(response(said(ErrorCode.UNKNOWN_PRODUCER_ID)))
    sent[1].answer(response(said(ErrorCode.UNKNOWN_PRODUCER_ID)))
    for number in range(2):
        request = again(scenario)
        assert numbers(request) == (7, 1, number)
        request.answer(response(said(offset=number)))
    assert [future.result(0).offset for future in futures] == [0, 1]


def test_a_refused_epoch_fails_the_batch_and_the_next_goes_under_another() -> None:
    scenario = idempotent()
    futures, sent = on_their_way(scenario, 2)
    for each in sent:
        each.answer(response(said(ErrorCode.INVALID_PRODUCER_EPOCH)))
    assert [isinstance(future.exception(0), BrokerError) for future in futures] == [True, True]
    scenario.add(b"next")
    assert numbers(again(scenario)) == (7, 1, 0)


def test_used_up_epochs_bring_a_new_producer_id() -> None:
    scenario = idempotent()
    queue = scenario.accumulator.queues("t")[0]
    queue.sequence.epoch = 2**15 - 1
    (future,), (sent,) = on_their_way(scenario, 1)
    sent.answer(response(said(OUT_OF_ORDER)))
    asked = again(scenario)
    assert isinstance(asked.request, InitProducerIdRequest)
    asked.answer(InitProducerIdResponse(producer_id=8, producer_epoch=0))
    request = again(scenario)
    assert numbers(request) == (8, 0, 0)
    request.answer(response(said(offset=3)))
    assert future.result(0).offset == 3


@pytest.mark.parametrize(("idempotence", "window", "moves_on"), [(True, 5, False), (False, 1, False), (False, 5, True)])
def test_no_batch_overtakes_one_that_the_old_leader_still_has(idempotence: bool, window: int, moves_on: bool) -> None:
    if idempotence:
        scenario = idempotent(max_in_flight_requests_per_connection=window)
    else:
        scenario = Scenario(max_in_flight_requests_per_connection=window)
    _, (sent,) = on_their_way(scenario, 1)
    queue = scenario.accumulator.queues("t")[0]
    assert sent.node_id == 1
    assert queue.may_go_to(1)
    assert queue.may_go_to(2) == moves_on


def test_records_that_expire_in_a_batch_with_others_behind_it_on_their_way_may_still_be_written() -> None:
    """The batch has to go as it is, or the numbers behind it would be wrong: so their fate is open."""
    scenario = idempotent(request_timeout_ms=500, delivery_timeout_ms=1000, batch_size=230)
    early = scenario.add(b"early" + bytes(60))
    scenario.clock.advance(600)
    late = scenario.add(b"late" + bytes(60))
    scenario.add(b"behind" + bytes(60))
    scenario.run()
    sent, scenario.network.sent = scenario.network.sent, []
    assert len(sent) == 2
    sent[0].answer(response(said(ErrorCode.NOT_ENOUGH_REPLICAS)))
    scenario.clock.advance(400)
    scenario.expire()
    assert isinstance(early.exception(0), DeliveryTimeout)
    assert scenario.deliveries.result({})[1:3] == (0, 1)
    sent[1].answer(response(said(OUT_OF_ORDER)))
    request = scenario.sent()
    assert [value[:4] for value in values_in(request) if value] == [b"earl", b"late"]
    request.answer(response(said(offset=6)))
    assert late.result(0).offset == 7


@pytest.mark.parametrize("closes", [False, True])
def test_nothing_is_sent_behind_the_callback_that_closed_the_producer(closes: bool) -> None:
    """close() has told what becomes of all that is left, and there it is said not to be written."""
    scenario = idempotent()

    def close(_: SendFuture) -> None:
        scenario.sender.is_over = closes

    scenario.add(b"1")
    scenario.add(b"2", callback=close)
    scenario.run()
    for sent in [scenario.network.take(), scenario.network.take()]:
        sent.fail(ConnectionLost("the connection is gone"))
    again(scenario).answer(response(said(ErrorCode.UNKNOWN_PRODUCER_ID)))
    scenario.add(b"elsewhere", partition=1)
    scenario.run()
    assert [values_in(sent, 1) for sent in scenario.network.sent] == ([] if closes else [[b"elsewhere"]])
