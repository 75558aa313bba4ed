"""An error raised in a process of a pool reaches the caller; without that the pool waits for an answer for ever."""

import multiprocessing
from concurrent.futures import ProcessPoolExecutor
from typing import NoReturn

import pytest

from kctl.client.errors import KafkaError
from tests.unit.error_samples import every_error, sample

WATCHDOG_S = 120
"""A hang fails the test after this time; nothing here waits on purpose."""
SPAWN = multiprocessing.get_context("spawn")


def raise_sample(index: int) -> NoReturn:
    raise every_error()[index]


def return_samples(_: int) -> list[KafkaError]:
    """Return every error, as a result that has to be pickled too."""
    return every_error()


@pytest.mark.nightly
def test_multiprocessing_pool_reports_each_error() -> None:
    errors = every_error()
    with SPAWN.Pool(2) as pool:
        results = [pool.apply_async(raise_sample, (index,)) for index in range(len(errors))]
        for error, result in zip(errors, results, strict=True):
            with pytest.raises(type(error)) as caught:
                result.get(WATCHDOG_S)
            assert caught.value == error


def test_process_pool_executor_reports_each_error() -> None:
    errors = every_error()
    with ProcessPoolExecutor(2, SPAWN) as pool:
        futures = [pool.submit(raise_sample, index) for index in range(len(errors))]
        for error, future in zip(errors, futures, strict=True):
            assert future.exception(WATCHDOG_S) == error


def test_errors_travel_as_results() -> None:
    with ProcessPoolExecutor(1, SPAWN) as pool:
        assert pool.submit(return_samples, 0).result(WATCHDOG_S) == every_error()


def test_sample_is_made_afresh() -> None:
    """The comparisons above are of values: two samples are equal and not the same."""
    assert sample(KafkaError) == sample(KafkaError)
    assert sample(KafkaError) is not sample(KafkaError)
