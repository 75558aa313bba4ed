"""Config values of brokers that are not the integers that they should be."""

import pytest

from kctl.cli import click
from kctl.cli.groups.lag_times import _limit_ms
from kctl.cli.partitions.throttle import _named
from kctl.cli.schemas import _number
from kctl.client.admin import ConfigEntry

LONG = "9" * 5000


def entry(name: str, value: str) -> ConfigEntry:
    return ConfigEntry(name, value, 1, False, False, ())


@pytest.mark.parametrize(("value", "limit_ms"), [("7", 7), ("-1", None), ("x", None), (LONG, None)])
def test_retention_that_is_not_an_integer_limits_no_lag(value: str, limit_ms: int | None) -> None:
    configs = {"cleanup.policy": entry("cleanup.policy", "delete"), "retention.ms": entry("retention.ms", value)}
    assert _limit_ms(configs) == limit_ms


def test_throttled_replicas_without_a_broker_id_are_skipped() -> None:
    assert _named({"t": {"leader.replication.throttled.replicas": ["0:1", f"0:{LONG}", "*", "1:x"]}}) == {1}


@pytest.mark.parametrize("text", ["0", "x", str(2**31), "0" * 10 + "1" + "0" * 9, "0" * 10 + "1" + "0" * 5000])
def test_schema_id_out_of_range_is_rejected(text: str) -> None:
    with pytest.raises(click.BadParameter, match="is not an integer from 1 to 2147483647"):
        _number(text, "ID")
