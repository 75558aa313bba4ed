"""CRC32C: the vectors of RFC 3720, section B.4; instructions, tables and Python agree on all other data."""

import platform
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import Random

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kctl.client.records._hot import crc32c as module
from kctl.client.records._hot.crc32c import crc32c
from tests.unit.records.sources import source_of

source = source_of(module)
IMPLEMENTATIONS: dict[str, Callable[..., int]] = {"loaded": crc32c, "python": source.crc32c}
if "_by_table" in vars(module):  # a private function of C, for these tests
    IMPLEMENTATIONS["table"] = vars(module)["_by_table"]

RANDOM_BYTES = Random(3720).randbytes(70_000)
LONG_BYTES = RANDOM_BYTES * 20
"""More than the size from which C releases the GIL."""
RFC_3720 = {
    bytes(32): 0x8A9136AA,
    b"\xff" * 32: 0x62A8AB43,
    bytes(range(32)): 0x46DD794E,
    bytes(range(31, -1, -1)): 0x113FDB5C,
    bytes.fromhex(
        "01c000000000000000000000000000001400000000000400000000140000001828000000000000000200000000000000"
    ): 0xD9963A56,
}
in_c = pytest.mark.skipif("table" not in IMPLEMENTATIONS, reason="crc32c.c is not loaded")
implementations = pytest.mark.parametrize("implementation", IMPLEMENTATIONS.values(), ids=IMPLEMENTATIONS)


@implementations
def test_vectors_of_the_rfc_have_their_checksums(implementation: Callable[..., int]) -> None:
    assert {data: implementation(data) for data in RFC_3720} == RFC_3720


@implementations
def test_no_bytes_keep_the_checksum(implementation: Callable[..., int]) -> None:
    assert implementation(b"") == 0
    assert implementation(b"", 0xFFFFFFFF) == 0xFFFFFFFF
    assert implementation(b"abc", 7, 2, 2) == implementation(b"abc", 7, 3) == implementation(b"abc", 7, 2, 1) == 7


@pytest.mark.slow
@given(st.integers(0, 70_000), st.integers(0, 70_000), st.integers(0, 70_000), st.integers(0, 0xFFFFFFFF))
@example(0, 70_000, 35_001, 0)
@example(1, 6_145, 6_144, 1)  # all of the three lanes
@example(3, 3 + 192, 100, 0xFFFFFFFF)  # the least bytes for three lanes
@example(5, 5 + 191, 100, 0)
def test_all_implementations_agree_on_parts_and_their_parts(one: int, other: int, third: int, crc: int) -> None:
    start, split, end = sorted((one, other, third))
    expected = source.crc32c(RANDOM_BYTES, crc, start, end)
    for implementation in IMPLEMENTATIONS.values():
        assert implementation(RANDOM_BYTES, crc, start, end) == expected
        assert implementation(RANDOM_BYTES[split:end], implementation(RANDOM_BYTES, crc, start, split)) == expected


def test_all_implementations_agree_on_each_short_size_at_each_alignment() -> None:
    for start in range(8):
        for end in range(start, 400):
            found = {implementation(RANDOM_BYTES, 0, start, end) for implementation in IMPLEMENTATIONS.values()}
            assert found == {source.crc32c(RANDOM_BYTES[start:end])}


@implementations
def test_each_contiguous_buffer_is_read_as_bytes(implementation: Callable[..., int]) -> None:
    data = RANDOM_BYTES[:4_000]
    expected = source.crc32c(data)
    for buffer in (bytearray(data), memoryview(data), memoryview(b"x" + data)[1:], memoryview(data).cast("I")):
        assert implementation(buffer) == expected
    assert implementation(memoryview(data).cast("I"), 0, 4, 8) == source.crc32c(data[4:8])


@implementations
@pytest.mark.parametrize("arguments", [(), ("text",), (b"", "7"), (b"", 0, "7"), (b"", 0, 0, "7"), (b"", 0, 0, 0, 0)])
def test_arguments_of_other_types_are_refused(
    implementation: Callable[..., int], arguments: tuple[object, ...]
) -> None:
    with pytest.raises(TypeError):
        implementation(*arguments)


@in_c
def test_long_data_has_the_checksum_of_its_parts_on_several_threads() -> None:
    expected = 0
    for at in range(0, len(LONG_BYTES), 70_000):
        expected = crc32c(LONG_BYTES, expected, at, at + 70_000)
    with ThreadPoolExecutor(4) as pool:
        assert set(pool.map(crc32c, [LONG_BYTES] * 16)) == {expected}


@in_c
def test_instructions_are_found_on_processors_that_have_them() -> None:
    listed = Path("/proc/cpuinfo")
    if platform.machine() != "x86_64" or not listed.exists():
        pytest.skip("/proc/cpuinfo does not list the instructions of x86-64")
    flags = set(listed.read_text().split())
    assert vars(module)["_HAS_INSTRUCTIONS"] == ({"sse4_2", "pclmulqdq"} <= flags)
