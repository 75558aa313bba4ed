"""--api-timeout as the limit of a record, and the one budget of the end, in virtual time."""

import pytest

from kctl.cli.produce.request import EndBudget, bound_delivery
from kctl.cli.setting import Setting
from kctl.cli.settings import Settings
from kctl.client.clock import ManualClock
from kctl.client.config import ProducerConfig


def _settings(**given: tuple[str, str]) -> Settings:
    by_name = {name.replace("_", "."): Setting(value, origin) for name, (value, origin) in given.items()}
    return Settings({"bootstrap.servers": Setting("h:1", "-b")} | by_name)


@pytest.mark.parametrize("api_ms", [1, 2, 2000, 29_000, 60_000, 300_000])
def test_api_timeout_alone_bounds_the_delivery_of_a_record(api_ms: int) -> None:
    config = bound_delivery(_settings(max_block_ms=(str(api_ms), "--api-timeout"))).parse(ProducerConfig)
    assert config.delivery_timeout_ms == api_ms
    assert config.request_timeout_ms == min(30_000, api_ms - config.linger_ms)


def test_api_timeout_cuts_longer_request_timeout_of_a_profile() -> None:
    settings = _settings(max_block_ms=("5000", "--api-timeout"), request_timeout_ms=("40000", "profile p"))
    assert bound_delivery(settings).parse(ProducerConfig).request_timeout_ms == 4995


@pytest.mark.parametrize(
    "given",
    [
        {"max_block_ms": ("2000", "-X")},
        {"max_block_ms": ("2000", "--api-timeout"), "delivery_timeout_ms": ("90000", "--delivery-timeout")},
        {},
    ],
    ids=["other-origin", "delivery-timeout-given", "nothing"],
)
def test_delivery_is_left_alone_otherwise(given: dict[str, tuple[str, str]]) -> None:
    settings = _settings(**given)
    assert bound_delivery(settings) == settings


def test_given_close_timeout_is_one_budget_from_the_end_of_the_input() -> None:
    clock = ManualClock()
    budget = EndBudget(clock, close_ms=2000, default_close_ms=30_000)
    budget.start_flush(120_000)
    clock.advance(1500)
    budget.start_close()
    assert budget.remaining_s == 0.5
    clock.advance(1500)
    budget.start_close()
    assert budget.remaining_s == 0


def test_without_close_timeout_the_records_have_the_delivery_timeout() -> None:
    clock = ManualClock()
    budget = EndBudget(clock, close_ms=None, default_close_ms=30_000)
    budget.start_flush(120_000)
    assert budget.remaining_s == 120
    clock.advance(120_000)
    budget.start_close()
    clock.advance(10_000)
    budget.start_close()
    assert budget.remaining_s == 20
