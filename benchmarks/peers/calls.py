"""What the programs share that try one blocking call of a consumer again and again: arguments, and the consumers.

A program makes its consumer, a member of a group that owns the one partition of `t`, then says `ready`; the fault comes
in before the start signal. Each try ends as `success`, `timeout` (poll came back empty) or with the error's words.
Standard library alone, since it runs in the peers' own environment too.
"""

import argparse
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple, TypeVar

from benchmarks.peers.measuring import Ended, report

T = TypeVar("T")
TOPIC = "t"
TIMEOUT = "timeout"
NO_LIMIT = "no limit"
SETTLE_S = 60
"""How long the first assignment may take."""

CALLS = (
    "poll",
    "position",
    "commit_sync",
    "committed",
    "partitions_for",
    "list_topics",
    "beginning_offsets",
    "end_offsets",
    "offsets_for_times",
    "client_instance_id",
    "close",
)


class CallOptions(NamedTuple):
    """What a program is asked to do."""

    servers: str
    call: str
    group: str
    limit_ms: int
    runs: int
    protocol: str

    @property
    def limit_s(self) -> float:
        return self.limit_ms / 1000

    @property
    def groups(self) -> list[str]:
        """One group a consumer: a close takes a consumer for each try, and one that is not counted."""
        return [f"{self.group}-{number}" for number in range(self.runs + 1)] if self.call == "close" else [self.group]


def parse() -> CallOptions:
    parser = argparse.ArgumentParser()
    parser.add_argument("--servers", required=True)
    parser.add_argument("--call", choices=CALLS, required=True)
    parser.add_argument("--group", required=True)
    parser.add_argument("--limit-ms", type=int, required=True)
    parser.add_argument("--runs", type=int, required=True)
    parser.add_argument("--protocol", choices=("classic", "consumer"), default="classic")
    return CallOptions(**vars(parser.parse_args()))


def unknown_topics() -> Iterator[str]:
    """Names of existing topics that no client has asked for yet; clients keep what they were told."""
    return (f"u{number}" for number in range(10_000))


def ended(empty: bool) -> Ended:
    """How a poll ended."""
    return Ended(TIMEOUT if empty else "success")


def measure(options: CallOptions, calls: Mapping[str, Callable[[], object]]) -> None:
    """Try the call; one that the client does not have, or that takes no limit, is told so."""
    call = calls.get(options.call)

    def attempt() -> Ended | None:
        if call is None:
            return Ended(NO_LIMIT)
        result = call()
        return result if isinstance(result, Ended) else None

    report(attempt, options.runs)
