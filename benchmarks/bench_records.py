"""Record codec: nanoseconds per record, compiled and pure, beside reference figures and, where installed, peers.

    python benchmarks/bench_records.py [--rounds N] [--only compiled|pure] [--check]

The reference is what a prototype of the same design, compiled by mypyc, reached on a 2-core AMD EPYC VM with the same
data (batches of 1 MB, 16-byte keys, no CRC check). That was another machine: what the peers take here over what they
took there, in the same rounds, is how much slower this one is, and `scaled` is our ratio without it.
Rounds are interleaved; minimum and median are shown, and the ratios are of the minima, which other work disturbs least.
GC is off, and glibc is told to keep freed memory: without that, page faults of freed buffers cost more than decoding.
`--check` fails where the scaled ratio is beyond 1.3.
"""

import argparse
import ctypes
import gc
import json
import os
import random
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterable
from functools import partial
from importlib import import_module
from itertools import chain, islice
from time import perf_counter_ns
from typing import NamedTuple

BATCH_BYTES = 1 << 20
REFERENCE_NS = {
    "objects 100 B": 63,
    "objects 100 B, 2 headers": 86,
    "objects 1000 B": 109,
    "objects 1000 B, 2 headers": 143,
    "joined 100 B": 36,
    "joined 1000 B": 101,
    "encode 100 B": 79,
    "encode 100 B, 2 headers": 179,
    "encode 1000 B": 201,
}
PURE_REFERENCE_NS = {
    "objects 100 B": 859,
    "objects 100 B, 2 headers": 1471,
    "objects 1000 B": 711,
    "objects 1000 B, 2 headers": 1503,
    "joined 100 B": 398,
    "joined 1000 B": 503,
    "encode 100 B": 473,
    "encode 100 B, 2 headers": 806,
    "encode 1000 B": 602,
}
PEER_REFERENCE_NS = {
    "aiokafka objects 100 B": 74,
    "aiokafka objects 1000 B": 125,
    "kafka-python objects 100 B": 2275,
    "kafka-python objects 1000 B": 2351,
}
HELD_TO_LIMIT = ("objects 100 B", "objects 1000 B", "joined 100 B", "joined 1000 B")
LIMIT = 1.3

Row = tuple[bytes, bytes, list[tuple[str, bytes | None]], int]


class Case(NamedTuple):
    """Something to measure, and how many records one call of it handles."""

    records: int
    run: Callable[[], object]


def pin() -> None:
    """Stay on one core and keep freed memory (M_TRIM_THRESHOLD, M_MMAP_THRESHOLD, M_TOP_PAD)."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    if sys.platform == "linux":
        libc = ctypes.CDLL(None)
        if hasattr(libc, "mallopt"):
            for option, value in ((-1, 1 << 30), (-3, 32 << 20), (-2, 64 << 20)):
                if not libc.mallopt(option, value):
                    sys.stderr.write(f"mallopt({option}, {value}) is refused: page faults will be in the figures\n")


def records_of(value_bytes: int) -> int:
    """How many records a batch has."""
    return BATCH_BYTES // (value_bytes + 26)


def rows(value_bytes: int, headers: int) -> list[Row]:
    """The records: random values, keys of 16 bytes, timestamps that mostly rise."""
    rng = random.Random(1)
    names = [(f"header-{number}", b"a header's value") for number in range(headers)]
    made: list[Row] = []
    for number in range(records_of(value_bytes)):
        stamp = 1_760_000_000_000 + number // 4
        made.append((b"key-%012d" % number, rng.randbytes(value_bytes), list(names), stamp))
    return made


def our_cases() -> dict[str, Case]:
    """What is measured of this project, in the implementation this process has loaded."""
    from kctl.client.records import BatchReader, OutputField, OutputPlan, RecordBatchBuilder

    plan = OutputPlan([OutputField("value"), b"\n"])
    general = OutputPlan([OutputField("key"), b"\t", OutputField("value"), b"\n"])

    def encode(data: list[Row]) -> bytes:
        builder = RecordBatchBuilder(batch_size_bytes=1 << 30)
        append = builder.try_append
        for key, value, headers, stamp in data:
            append(key, value, headers, stamp)
        return builder.build()

    def encode_small(data: list[Row]) -> None:
        """As a producer does it: one batch of batch.size after the other."""
        builder = RecordBatchBuilder()
        for key, value, headers, stamp in data:
            if builder.try_append(key, value, headers, stamp) is None:
                builder.build()
                builder = RecordBatchBuilder()
                builder.try_append(key, value, headers, stamp)
        builder.build()

    def objects(batch: bytes, check_crcs: bool = False) -> None:
        reader = BatchReader(batch, topic="topic", partition=1, check_crcs=check_crcs)
        while reader.records(500):
            pass

    def joined(batch: bytes, plan: OutputPlan) -> None:
        reader = BatchReader(batch, topic="topic", partition=1, check_crcs=False)
        while not reader.exhausted:
            reader.output(plan, 500)

    cases: dict[str, Case] = {}
    for size, headers in ((100, 0), (100, 2), (1000, 0), (1000, 2)):
        data = rows(size, headers)
        batch = encode(data)
        name = f"{size} B, {headers} headers" if headers else f"{size} B"
        cases[f"objects {name}"] = Case(len(data), partial(objects, batch))
        cases[f"encode {name}"] = Case(len(data), partial(encode, data))
        if not headers:
            cases[f"encode {name}, 16 kB batches"] = Case(len(data), partial(encode_small, data))
            cases[f"joined {name}"] = Case(len(data), partial(joined, batch, plan))
            cases[f"objects {name}, CRC"] = Case(len(data), partial(objects, batch, True))
            cases[f"key+tab+value {name}"] = Case(len(data), partial(joined, batch, general))
    return cases


def peer_cases() -> dict[str, Case]:
    """The same data through other libraries' record code, those that are installed."""
    from kctl.client.records import RecordBatchBuilder

    cases: dict[str, Case] = {}
    batches: dict[int, bytes] = {}
    for size in (100, 1000):
        builder = RecordBatchBuilder(batch_size_bytes=1 << 30)
        for row in rows(size, 0):
            builder.try_append(*row)
        batches[size] = builder.build()
    for peer, module_name in (
        ("aiokafka", "aiokafka.record.default_records"),
        ("kafka-python", "kafka.record.default_records"),
    ):
        try:
            module = import_module(module_name)
        except ImportError:
            continue
        for size, batch in batches.items():
            cases[f"{peer} objects {size} B"] = Case(
                records_of(size), partial(_drain, module.DefaultRecordBatch, batch)
            )
    return cases


def _drain(read: Callable[[bytes], Iterable[object]], batch: bytes) -> None:
    """Read in the same chunks as ours: a list of all would pay for page faults."""
    records = chain(read(batch))
    while list(islice(records, 500)):
        pass


def measure(cases: dict[str, Case], rounds: int) -> dict[str, tuple[float, float]]:
    """Minimum and median nanoseconds per record of each case, the rounds interleaved."""
    times: dict[str, list[float]] = {name: [] for name in cases}
    gc.collect()
    gc.disable()
    for _ in range(rounds + 1):
        for name, case in cases.items():
            case.run()  # untimed: what ran before has emptied the caches of this case's data
            started = perf_counter_ns()
            case.run()
            times[name].append((perf_counter_ns() - started) / case.records)
    gc.enable()
    return {name: (min(taken[1:]), statistics.median(taken[1:])) for name, taken in times.items()}


def run_child(implementation: str, rounds: int) -> dict[str, tuple[float, float]]:
    """The figures of one implementation, in a process of its own; empty when it is not the one that loads."""
    environment = dict(os.environ)
    environment.pop("KCTL_PURE", None)
    if implementation == "pure":
        environment["KCTL_PURE"] = "1"
    command = [sys.executable, __file__, "--child", implementation, "--rounds", str(rounds)]
    done = subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE)
    figures: dict[str, tuple[float, float]] = json.loads(done.stdout)
    return figures


def child(implementation: str, rounds: int) -> None:
    """Measure in this process and write the figures to stdout."""
    from kctl.client.records import is_compiled

    if is_compiled() != (implementation == "compiled"):
        print("{}")
        return
    pin()
    cases = our_cases()
    if implementation == "compiled":
        cases |= peer_cases()
    print(json.dumps(measure(cases, rounds)))


def machine_factor(figures: dict[str, tuple[float, float]], size: str) -> float:
    """How much slower this machine is than the reference with values of that size; 1.0 when no peer is installed.

    By the compiled peer where it is there: an interpreted one does not feel memory as we do.
    """
    for peer in ("aiokafka", "kafka-python"):
        name = f"{peer} objects {size}"
        if name in figures:
            return figures[name][0] / PEER_REFERENCE_NS[name]
    return 1.0


def show(implementation: str, figures: dict[str, tuple[float, float]], factors: dict[str, float]) -> list[str]:
    """Print the table; the rows that are held to the limit and beyond it."""
    reference = PEER_REFERENCE_NS | (REFERENCE_NS if implementation == "compiled" else PURE_REFERENCE_NS)
    scale = ", ".join(f"{factor:.2f} at {size}" for size, factor in factors.items())
    print(f"\n{implementation}: ns per record{'' if figures else ': not built'} (machine factor {scale})")
    missed = []
    for name, (least, median) in figures.items():
        line = f"  {name:30} min {least:7.1f}  median {median:7.1f}"
        if name in reference:
            ratio = least / reference[name]
            scaled = ratio / factors["1000 B" if "1000 B" in name else "100 B"]
            line += f"  reference {reference[name]:5}  ratio {ratio:5.2f}  scaled {scaled:5.2f}"
            if implementation == "compiled" and name in HELD_TO_LIMIT and scaled > LIMIT:
                line += f"  beyond {LIMIT}"
                missed.append(name)
        print(line)
    return missed


def main() -> int:
    """Run both implementations and print their tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--only", choices=("compiled", "pure"))
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--child", choices=("compiled", "pure"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        child(options.child, options.rounds)
        return 0
    missed: list[str] = []
    built = True
    factors = {"100 B": 1.0, "1000 B": 1.0}
    for implementation in ("compiled", "pure") if options.only is None else (options.only,):
        figures = run_child(implementation, options.rounds)
        built = built and bool(figures)
        if implementation == "compiled":
            factors = {size: machine_factor(figures, size) for size in factors}
        missed += show(implementation, figures, factors)
    return 1 if options.check and (missed or not built) else 0


if __name__ == "__main__":
    sys.exit(main())
