"""What the programs share that end a producer with records that cannot be delivered: arguments and the tries.

A program makes one producer a try, each of which has delivered a record, then says `ready`; the fault comes in before
the start signal. A try hands `RECORDS` records over and flushes or closes. It ends as `success` when the call returned
as if all was well, and else with what the call said of the records. Standard library alone.
"""

import argparse
import json
import random
import sys
import time
from collections.abc import Callable
from typing import NamedTuple, TypeVar

P = TypeVar("P")
TOPIC = "t"
RECORDS = 10
NO_LIMIT = "no limit"
CALLS = ("flush", "close")


class EndOptions(NamedTuple):
    """What a program is asked to do."""

    servers: str
    call: str
    limit_ms: int
    runs: int

    @property
    def limit_s(self) -> float:
        return self.limit_ms / 1000


def parse() -> EndOptions:
    parser = argparse.ArgumentParser()
    parser.add_argument("--servers", required=True)
    parser.add_argument("--call", choices=CALLS, required=True)
    parser.add_argument("--limit-ms", type=int, required=True)
    parser.add_argument("--runs", type=int, required=True)
    return EndOptions(**vars(parser.parse_args()))


def measure(
    options: EndOptions,
    make: Callable[[], P],
    send: Callable[[P], None],
    calls: dict[str, Callable[[P], str]],
) -> None:
    """Make the producers, wait for the start signal, and end one after the other.

    Args:
        make: a producer that is connected to the leader.
        send: hands one record over without waiting.
        calls: by name, what ends a producer and tells how; one that takes no limit is left out.
    """
    call = calls.get(options.call)
    producers = [make() for _ in range(options.runs + 1)] if call is not None else []
    print("ready", flush=True)
    sys.stdin.readline()
    if call is None:
        print(json.dumps({"elapsed_us": 0, "text": NO_LIMIT}), flush=True)
        return
    for run, producer in enumerate(producers, start=-1):
        time.sleep(0.002 + random.random() / 1000)
        for _ in range(RECORDS):
            send(producer)
        started_ns = time.perf_counter_ns()
        try:
            text = call(producer)
        except Exception as error:  # noqa: BLE001 - how a client fails is what is measured
            text = f"{type(error).__name__}: {error}"
        elapsed_us = (time.perf_counter_ns() - started_ns) // 1000
        if run >= 0:
            print(json.dumps({"elapsed_us": elapsed_us, "text": text}), flush=True)
