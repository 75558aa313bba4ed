"""CRC32C: microseconds a checksum, by instructions, by table, and by google-crc32c if it is installed.

Run it as `python -m benchmarks.bench_crc32c`. Rounds are interleaved and counted in CPU time, which other work disturbs
least. The ratio is google-crc32c's time over the time of kctl: median, minimum and maximum of the rounds.
"""

import timeit
from collections.abc import Callable
from importlib import import_module
from random import Random
from statistics import median
from time import process_time

from kctl.client.records._hot import crc32c as module

SIZES = (100, 1 << 10, 16 << 10, 1 << 20)
ROUNDS = 7


def implementations() -> dict[str, Callable[[bytes], int]]:
    """What there is to measure, kctl first."""
    found = {"kctl": module.crc32c, "table": vars(module).get("_by_table")}
    try:
        found["google"] = import_module("google_crc32c").value
    except ImportError:
        print("google-crc32c is not installed")
    return {name: function for name, function in found.items() if function is not None}


def once_us(function: Callable[[bytes], int], data: bytes) -> float:
    """The CPU time of one call."""
    number = 40_000_000 // (len(data) + 2_000)
    names = {"function": function, "data": data}
    return timeit.timeit("function(data)", timer=process_time, globals=names, number=number) / number * 1e6


def main() -> None:
    for size in SIZES:
        data = Random(size).randbytes(size)
        rounds = [{name: once_us(each, data) for name, each in implementations().items()} for _ in range(ROUNDS)]
        medians = {name: median(times[name] for times in rounds) for name in rounds[0]}
        line = "  ".join(f"{name} {us:8.3f} us, {size / us / 1e3:5.1f} GB/s" for name, us in medians.items())
        if "google" in medians:
            ratios = sorted(times["google"] / times["kctl"] for times in rounds)
            line += f"  google / kctl {median(ratios):.2f} ({ratios[0]:.2f} to {ratios[-1]:.2f})"
        print(f"{size:8} B  {line}")


if __name__ == "__main__":
    main()
