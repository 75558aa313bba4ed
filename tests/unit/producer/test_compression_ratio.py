"""Estimates of compression: as Java moves them, and never so that a batch could exceed max.request.size."""

import pytest

from kctl.client.producer.compression_ratio import CompressionRatios
from tests.unit.producer.records import config


def test_estimate_improves_slowly_and_deteriorates_fast() -> None:
    ratios = CompressionRatios(config(compression_type="zstd", batch_size=1000))
    assert ratios.expected("t") == 1.0
    ratios.observe("t", 0.2)
    assert ratios.expected("t") == 1.0  # 0.995, with the margin
    for _ in range(99):
        ratios.observe("t", 0.2)
    assert ratios.expected("t") == pytest.approx(1.05 * 0.5)
    for _ in range(100):
        ratios.observe("t", 0.2)
    assert ratios.expected("t") == pytest.approx(1.05 * 0.2)
    ratios.observe("t", 0.9)
    assert ratios.expected("t") == pytest.approx(1.05 * 0.25)
    ratios.observe("t", 0.26)
    assert ratios.expected("t") == pytest.approx(1.05 * 0.26)
    assert ratios.expected("other") == 1.0
    ratios.reset("t")
    assert ratios.expected("t") == 1.0


@pytest.mark.parametrize(("batch_size", "least"), [(1000, 0.1), (10_000, 1.0), (20_000, 1.0)])
def test_plain_batch_never_exceeds_max_request_size(batch_size: int, least: float) -> None:
    ratios = CompressionRatios(config(compression_type="lz4", batch_size=batch_size, max_request_size=10_000))
    for _ in range(1000):
        ratios.observe("t", 0.01)
    assert ratios.expected("t") == least


def test_records_that_grow_by_compression_are_expected_to_stay_as_large() -> None:
    ratios = CompressionRatios(config(compression_type="gzip"))
    ratios.observe("t", 1.3)
    assert ratios.expected("t") == 1.0


def test_without_compression_nothing_is_learned() -> None:
    ratios = CompressionRatios(config())
    ratios.observe("t", 0.5)
    assert ratios.expected("t") == 1.0
