"""No client at all: a bare wait for the limit. What it is late by is the machine's doing, and every client's too."""

import time

from benchmarks.peers.measuring import Ended, parse, report

options = parse()


def attempt() -> Ended:
    time.sleep(options.limit_ms / 1000)
    return Ended("")


if __name__ == "__main__":
    report(attempt, options.runs)
