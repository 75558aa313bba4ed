"""Steady memory: a member of a group consumes for ten minutes; how much its process grows meanwhile.

    python benchmarks/bench_memory.py [--seconds N] [--records N] [--value-bytes N] [--protocol classic|consumer]

A sandbox in a second process holds a topic; the member reads it from end to end, commits by itself, and starts again
from the beginning. The resident memory of this process is looked at about every second, where everything has just
been read and nothing is fetched ahead; the slope is that of the line through all looks but those of the first fifth,
in which caches fill. Exits with 1 where it is above --most-kib-per-minute: at 100,000 records a second one byte kept of
each record is 5,900 KiB a minute. Runs of less than some minutes show the allocator's noise.
"""

import argparse
import gc
import os
import statistics
import subprocess
import sys
from time import perf_counter

from kctl.client.consumer.consumer import Consumer
from kctl.client.records import RecordBatchBuilder, is_compiled

TOPIC = "bench"
GROUP = "bench"
PARTITIONS = 6
BATCH_BYTES = 16 * 1024
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
LOOK_S = 1.0


def serve(args: argparse.Namespace) -> None:
    """Be the sandbox: fill the topic, say where it is, and stay until stdin ends."""
    from kctl.sandbox import Sandbox

    sandbox = Sandbox(nodes=3, topics={TOPIC: PARTITIONS})
    with sandbox.serve() as served:
        for partition in sandbox.cluster.topics[TOPIC].partitions.values():
            left = args.records // PARTITIONS
            while left > 0:
                builder = RecordBatchBuilder("lz4", batch_size_bytes=BATCH_BYTES)
                while left > 0 and builder.try_append(b"%016d" % left, os.urandom(args.value_bytes), [], 1) is not None:
                    left -= 1
                partition.log.append(builder.build(), partition.leader_epoch, 1)
        print(served.bootstrap, flush=True)
        sys.stdin.read()


def resident_bytes() -> int:
    """Return what this process has in memory now."""
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * PAGE_BYTES


def slope(looks: list[tuple[float, int]]) -> float:
    """Return by how many bytes a second the straight line through the looks rises."""
    middle_s = sum(at for at, _ in looks) / len(looks)
    middle_bytes = sum(size for _, size in looks) / len(looks)
    over = sum((at - middle_s) * (size - middle_bytes) for at, size in looks)
    under = sum((at - middle_s) ** 2 for at, _ in looks)
    return over / under


def consume(bootstrap: str, args: argparse.Namespace) -> tuple[list[tuple[float, int]], int, int]:
    """Return the looks, how many records were read, and how often all of the topic was."""
    looks: list[tuple[float, int]] = []
    records = rounds = 0
    config = {
        "bootstrap.servers": bootstrap,
        "group.id": GROUP,
        "group.protocol": args.protocol,
        "auto.offset.reset": "earliest",
        "auto.commit.interval.ms": 1000,
    }
    with Consumer(config) as consumer:
        consumer.subscribe([TOPIC])
        began_s = next_s = perf_counter()
        of_round = 0
        while (now_s := perf_counter()) < began_s + args.seconds:
            got = len(consumer.poll(0.2))
            records += got
            of_round += got
            if of_round >= args.records // PARTITIONS * PARTITIONS:
                rounds, of_round = rounds + 1, 0
                if now_s >= next_s:
                    next_s = now_s + LOOK_S
                    gc.collect()  # what is looked for is what stays, not what has not been swept yet
                    looks.append((now_s - began_s, resident_bytes()))
                consumer.seek_to_beginning(list(consumer.assignment))
    return looks, records, rounds


def main() -> int:
    """Serve, or consume and report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=600.0)
    parser.add_argument("--records", type=int, default=120_000, help="in the topic")
    parser.add_argument("--value-bytes", type=int, default=100)
    parser.add_argument("--protocol", choices=["classic", "consumer"], default="classic")
    parser.add_argument("--most-kib-per-minute", type=float, default=64.0)
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.serve:
        serve(args)
        return 0
    command = [sys.executable, __file__, "--serve", *sys.argv[1:]]
    sandbox = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        assert sandbox.stdout is not None
        bootstrap = sandbox.stdout.readline().strip()
        looks, records, rounds = consume(bootstrap, args)
    finally:
        sandbox.kill()
        sandbox.wait()
    steady = [look for look in looks if look[0] >= args.seconds / 5]
    if len(steady) < 3:
        print("too short to say anything")
        return 2
    kib_per_minute = slope(steady) * 60 / 1024
    sizes = [size / 2**20 for _, size in steady]
    print(f"{args.protocol} member, {'compiled' if is_compiled() else 'pure'} records, {looks[-1][0]:.0f} s")
    print(f"records             {records:,} in {rounds} rounds ({records / looks[-1][0]:,.0f} a second)")
    print(
        f"resident            {sizes[0]:.1f} MiB, then {min(sizes):.1f} to {max(sizes):.1f}, at the end {sizes[-1]:.1f}"
    )
    fifths = [statistics.median(sizes[len(sizes) * i // 5 : len(sizes) * (i + 1) // 5] or sizes) for i in range(5)]
    print(f"medians of fifths   {' '.join(f'{size:.1f}' for size in fifths)} MiB")
    print(f"slope               {kib_per_minute:+.1f} KiB a minute (at most {args.most_kib_per_minute:g})")
    return 1 if kib_per_minute > args.most_kib_per_minute else 0


if __name__ == "__main__":
    sys.exit(main())
