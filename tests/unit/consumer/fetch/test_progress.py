"""Fetch responses that bring nothing new: an error of the partition, and no more fetches than the back-off allows."""

import pytest

from kctl.client.consumer.events import Fetched, PartitionFailed, StartFetch, Truncated
from kctl.client.errors import NoProgressError
from tests.unit.consumer.fakes import T0, FakeClient, answer, batch, topic
from tests.unit.consumer.fetch.test_manager import Scenario, asked, brings, data

BEFORE = pytest.mark.parametrize("before", [batch(0, 3), batch(2, 1)], ids=["just before", "well before"])


@BEFORE
def test_batches_before_the_position_are_an_error_of_the_partition(before: bytes) -> None:
    scenario = Scenario(FakeClient(topic("t", [1])))
    scenario.manager.start(StartFetch(T0, 1, 7))
    answer(scenario.request(), brings(data(0, before)), 10)
    [failed] = [event for event in scenario.reports.take() if isinstance(event, PartitionFailed | Fetched)]
    assert isinstance(failed, PartitionFailed)
    error = failed.error
    assert isinstance(error, NoProgressError)
    assert (error.topic, error.partition, error.position, failed.offset) == ("t", 0, 7, 7)
    assert "t-0" in str(error)
    assert "offset 7" in str(error)


@BEFORE
def test_fetches_without_progress_back_off_however_often_the_application_tries_again(before: bytes) -> None:
    scenario = Scenario(FakeClient(topic("t", [1])), retry_backoff_max_ms=1000)
    fetches = 0
    for now_ms in range(10_000):
        if not any(isinstance(event, Fetched) for event in scenario.reports.take()):
            scenario.manager.start(StartFetch(T0, now_ms, 7))  # as after each error that poll has raised
        for request in scenario.requests(now_ms):
            fetches += 1
            answer(request, brings(data(0, before)), now_ms)
    assert 9 <= fetches <= 20, "100 ms, 200 ms, ... then once a second"


def test_a_seek_elsewhere_is_fetched_at_once() -> None:
    scenario = Scenario(FakeClient(topic("t", [1])))
    scenario.manager.start(StartFetch(T0, 1, 7))
    answer(scenario.request(), brings(data(0, batch(0, 3))), 10)
    scenario.manager.start(StartFetch(T0, 2, 5))
    assert asked(scenario.request(10)) == [("t", 0, 5)]


def test_data_resets_the_back_off() -> None:
    scenario = Scenario(FakeClient(topic("t", [1])))
    scenario.manager.start(StartFetch(T0, 1, 7))
    answer(scenario.request(), brings(data(0, batch(0, 3))), 0)
    scenario.manager.start(StartFetch(T0, 2, 7))
    assert scenario.requests(50) == []
    answer(scenario.request(200), brings(data(0, batch(7, 3))), 200)
    assert asked(scenario.request(200)) == [("t", 0, 10)]


@pytest.mark.parametrize("end", [0, 100], ids=["at the end", "before the end"])
def test_empty_responses_that_come_at_once_are_bounded(end: int) -> None:
    scenario = Scenario(FakeClient(topic("t", [1])), T0, retry_backoff_max_ms=1000)
    fetches = 0
    for now_ms in range(10_000):
        for request in scenario.requests(now_ms):
            fetches += 1
            answer(request, brings(data(0, b"", end=end)), now_ms)
    assert 9 <= fetches <= 20


@pytest.mark.parametrize("partition", [1, -1], ids=["another partition", "no partition"])
def test_responses_about_partitions_that_were_not_asked_for_are_bounded(partition: int) -> None:
    scenario = Scenario(FakeClient(topic("t", [1])), T0, retry_backoff_max_ms=1000)
    fetches = 0
    for now_ms in range(10_000):
        for request in scenario.requests(now_ms):
            fetches += 1
            answer(request, brings(data(0, b""), data(partition, batch(0, 3))), now_ms)
    assert 9 <= fetches <= 20


@pytest.mark.parametrize("records", [b"", batch(7, 3)], ids=["no records", "records"])
def test_logs_that_differ_behind_the_position_only_are_bounded(records: bytes) -> None:
    scenario = Scenario(FakeClient(topic("t", [1])), retry_backoff_max_ms=1000)
    scenario.manager.start(StartFetch(T0, 0, 7))
    fetches = 0
    for now_ms in range(10_000):
        if any(isinstance(event, Truncated) for event in scenario.reports.take()):
            scenario.manager.start(StartFetch(T0, now_ms, 7))  # the position is not behind the end of what is the same
        for request in scenario.requests(now_ms):
            fetches += 1
            differs = data(0, records)
            differs.diverging_epoch.epoch, differs.diverging_epoch.end_offset = 1, 7
            answer(request, brings(differs), now_ms)
    assert 9 <= fetches <= 20


def test_empty_responses_that_were_held_are_followed_at_once() -> None:
    scenario = Scenario(FakeClient(topic("t", [1])), T0)
    now_ms = 0
    for _ in range(20):
        request = scenario.request(now_ms)
        now_ms += 500
        answer(request, brings(data(0, b"", end=0)), now_ms)
