"""What the programs of all Python clients share: the arguments, the start signal, one line of JSON a try.

A program says `ready` once everything is imported and made, and begins when a line comes in, so that no client is
measured while another starts. The first try is not counted: it compiles, connects and caches for the others.
Standard library alone, since it runs in the peers' own environment too.
"""

import argparse
import json
import random
import sys
import time
from collections.abc import Callable
from typing import NamedTuple


class Options(NamedTuple):
    """What a program is asked to do."""

    servers: str
    mode: str
    """`api`: a whole call under a deadline; `connect`: one connection under its setup limit."""
    limit_ms: int
    runs: int
    security: str
    silent_resolver: bool


class Ended(NamedTuple):
    """How a try ended; `elapsed_us` where the client measured it better than its caller can."""

    text: str
    elapsed_us: int | None = None


Attempt = Callable[[], Ended | None]
"""One try; it returns what it found out or raises. None: it succeeded, which no faulty peer should let it."""


def parse() -> Options:
    parser = argparse.ArgumentParser()
    parser.add_argument("--servers", required=True)
    parser.add_argument("--mode", choices=("api", "connect"), required=True)
    parser.add_argument("--limit-ms", type=int, required=True)
    parser.add_argument("--runs", type=int, required=True)
    parser.add_argument("--security", required=True)
    parser.add_argument("--silent-resolver", action="store_true")
    return Options(**vars(parser.parse_args()))


def report(attempt: Attempt, runs: int) -> None:
    """Wait for the start signal, then run the attempt and print how it ended."""
    print("ready", flush=True)
    sys.stdin.readline()
    for run in range(-1, runs):
        # Each begins at another fraction of a millisecond; otherwise all share the one at which the last ended.
        time.sleep(0.002 + random.random() / 1000)
        started_ns = time.perf_counter_ns()
        try:
            ended = attempt() or Ended("success")
        except Exception as error:  # noqa: BLE001 - how a client fails is what is measured
            ended = Ended(_in_words(error))
        elapsed_us = (time.perf_counter_ns() - started_ns) // 1000
        if ended.elapsed_us is not None:
            elapsed_us = ended.elapsed_us
        if run >= 0:
            print(json.dumps({"elapsed_us": elapsed_us, "text": ended.text}), flush=True)


def _in_words(error: BaseException) -> str:
    words = f"{type(error).__name__}: {error}"
    return words if error.__cause__ is None else f"{words} <- {_in_words(error.__cause__)}"
