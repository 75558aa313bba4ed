"""`python -m tests.sim`: run, replay, shrink, diff and mutants. Exit code 1 when a rule was broken or runs differ."""

import argparse
import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import NamedTuple

from tests.sim.chaos import coverage
from tests.sim.chaos.frame import Outcome
from tests.sim.chaos.plan import Plan, draw, from_json, to_json
from tests.sim.chaos.run import run as run_consumers
from tests.sim.chaos.shrink import shrink
from tests.sim.chaos_producer import coverage as producer_coverage
from tests.sim.chaos_producer import plan as producers
from tests.sim.chaos_producer.plan import SIGN, ProducerPlan
from tests.sim.chaos_producer.run import run as run_producers

ROOT = Path(__file__).parents[3]
CORPUS = ROOT / "tests" / "sim" / "corpus"
AIO = "aio:"
AGAIN_EVERY = 20
"""One seed in so many is run again in another process with another PYTHONHASHSEED."""
COVERAGE_FROM_SEEDS = 1000
"""So many seeds must have met every needed pair of fault and API."""


def say(text: str) -> None:
    """Print a line and flush."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


class Report(NamedTuple):
    """Result of one run, sent to the parent process."""

    name: str
    failure: str
    rule: str
    trace_hash: str
    pairs: Counter[tuple[str, str]]
    outcomes: Counter[tuple[str, str]]
    virtual_ms: int
    steps: int


def plan_of(word: str) -> Plan | ProducerPlan:
    """Return the plan of a seed or of a file; seeds of producers have a sign: `producer:17`.

    With `aio:` before it, the plan has clients for asyncio.
    """
    if word.startswith(AIO):
        return plan_of(word.removeprefix(AIO))._replace(is_aio=True)
    if word.startswith(f"{SIGN}:"):
        return producers.draw(int(word.partition(":")[2]))
    if not word.endswith(".json"):
        return draw(int(word))
    text = Path(word).read_text()
    return producers.from_json(text) if json.loads(text).get("of") == SIGN else from_json(text)


def run(plan: Plan | ProducerPlan, *, keep_trace: bool = False) -> Outcome:
    """Run a plan of either kind and check its history."""
    if isinstance(plan, ProducerPlan):
        return run_producers(plan, keep_trace=keep_trace)
    return run_consumers(plan, keep_trace=keep_trace)


def failure_line(outcome: Outcome, name: str) -> str:
    """Return the one line that says what failed and how to see it again; empty when nothing did."""
    if not outcome.violations:
        return ""
    first = outcome.violations[0]
    plan = outcome.plan
    head = f"SIM FAIL {first.rule} seed={plan.seed} plan={plan.digest} trace={outcome.trace_hash[:8]}"
    return f"{head} | python -m tests.sim replay {name} | {first.proc} at {first.at_ms} ms: {first.text[:300]}"


def report(word: str) -> Report:
    """Run one seed or file."""
    outcome = run(plan_of(word))
    rule = outcome.violations[0].rule if outcome.violations else ""
    seen = outcome.coverage
    return Report(
        word, failure_line(outcome, word), rule, outcome.trace_hash, seen.pairs, seen.outcomes,
        outcome.virtual_ms, outcome.steps,
    )  # fmt: skip


def _reports(words: list[str], jobs: int) -> Iterator[Report]:
    if jobs == 1:
        yield from map(report, words)
        return
    with ProcessPoolExecutor(jobs) as pool:
        yield from pool.map(report, words, chunksize=4)


def trace_hash_elsewhere(word: str, hash_seed: str) -> str:
    """Return the trace hash of a run in another process."""
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
    command = [sys.executable, "-m", "tests.sim", "hash", word]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def fresh_seeds(count: int) -> list[str]:
    """Return seeds that the present commit draws: each commit is tried with others."""
    command = ["git", "-C", str(ROOT), "rev-parse", "HEAD"]
    commit = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    first = int(commit[:10], 16)
    return [str(first + number) for number in range(count)]


# --- commands ---------------------------------------------------------------------------------------------------------


def _run(arguments: argparse.Namespace) -> int:
    words: list[str] = []
    if arguments.corpus:
        paths = [path for path in sorted(CORPUS.glob("*.json")) if _is_of(path, is_producer=arguments.producer)]
        words += [str(path.relative_to(ROOT)) for path in paths]
    sign = f"{SIGN}:" if arguments.producer else ""
    if arguments.seeds:
        low, _, high = arguments.seeds.partition(":")
        words += [f"{sign}{seed}" for seed in range(int(low), int(high or int(low) + 1))]
    if arguments.fresh:
        words += [f"{sign}{seed}" for seed in fresh_seeds(arguments.fresh)]
    if arguments.aio:
        words = [AIO + word for word in words]
    failures: list[Report] = []
    pairs: Counter[tuple[str, str]] = Counter()
    outcomes: Counter[tuple[str, str]] = Counter()
    virtual_ms = 0
    differing: list[str] = []
    for number, each in enumerate(_reports(words, arguments.jobs)):
        pairs.update(each.pairs)
        outcomes.update(each.outcomes)
        virtual_ms += each.virtual_ms
        if each.failure:
            failures.append(each)
            say(each.failure)
            if arguments.first:
                break
        elif number % AGAIN_EVERY == AGAIN_EVERY - 1 and not arguments.once:
            elsewhere = trace_hash_elsewhere(each.name, str(number))
            if elsewhere != each.trace_hash:
                differing.append(each.name)
                say(f"SIM DIFFERS seed={each.name}: {each.trace_hash} here, {elsewhere} in another process")
    needed = producer_coverage.NEEDED if arguments.producer else coverage.NEEDED
    missing = coverage.missing(pairs, needed)
    if arguments.coverage:
        _print_coverage(pairs, outcomes)
    if missing and len(words) >= COVERAGE_FROM_SEEDS:
        say(f"SIM COVERAGE never met: {_pairs(missing)}")
    say(f"{len(words)} runs, {virtual_ms / 3_600_000:.1f} virtual hours, {len(failures)} failed, "
          f"{len(differing)} differed, {len(pairs)} pairs of fault and API met")  # fmt: skip
    has_gap = bool(missing) and len(words) >= COVERAGE_FROM_SEEDS
    return int(bool(failures or differing or has_gap))


def _is_of(path: Path, *, is_producer: bool) -> bool:
    return isinstance(plan_of(str(path)), ProducerPlan) == is_producer


def _pairs(pairs: Iterable[tuple[str, str]]) -> str:
    return ", ".join(f"{one} x {other}" for one, other in pairs)


def _print_coverage(pairs: Counter[tuple[str, str]], outcomes: Counter[tuple[str, str]]) -> None:
    for title, counts in (("fault x API", pairs), ("call x outcome", outcomes)):
        say(f"{title}:")
        for (one, other), count in sorted(counts.items()):
            say(f"  {one:20} {other:32} {count}")


def _replay(arguments: argparse.Namespace) -> int:
    outcome = run(plan_of(arguments.what), keep_trace=arguments.trace)
    if arguments.history:
        outcome.history.write(Path(arguments.history))
    if arguments.trace:
        say("\n".join(outcome.trace))
    say(f"{len(outcome.plan.faults)} faults, {len(outcome.plan.clients)} clients, {outcome.virtual_ms} ms, "
          f"{outcome.steps} steps, trace {outcome.trace_hash}")  # fmt: skip
    for violation in outcome.violations:
        say(str(violation))
    return int(bool(outcome.violations))


def _shrink(arguments: argparse.Namespace) -> int:
    plan = plan_of(arguments.what)
    violations = run(plan).violations
    if not violations:
        say(f"{arguments.what} breaks no rule: nothing to shrink")
        return 1
    rule = violations[0].rule

    def fails(smaller: Plan | ProducerPlan) -> bool:
        return any(found.rule == rule for found in run(smaller).violations)

    small: Plan | ProducerPlan
    if isinstance(plan, ProducerPlan):
        small, runs = shrink(plan, fails, most_runs=arguments.runs)
        text = producers.to_json(small)
    else:
        small, runs = shrink(plan, fails, most_runs=arguments.runs)
        text = to_json(small)
    say(f"{rule}: {len(plan.faults)} faults to {len(small.faults)}, {len(plan.clients)} clients to "
          f"{len(small.clients)}, {runs} runs")  # fmt: skip
    if arguments.output:
        Path(arguments.output).write_text(text)
    else:
        say(text)
    return 0


def _diff(arguments: argparse.Namespace) -> int:
    one, other = (run(plan_of(word), keep_trace=True).trace for word in (arguments.one, arguments.other))
    for number, (left, right) in enumerate(zip(one, other, strict=False)):
        if left != right:
            say(f"line {number}:\n  {left}\n  {right}")
            return 1
    say(f"{len(one)} and {len(other)} lines, equal as far as both go")
    return int(len(one) != len(other))


def _hash(arguments: argparse.Namespace) -> int:
    say(run(plan_of(arguments.what)).trace_hash)
    return 0


def _mutants(arguments: argparse.Namespace) -> int:
    from tests.sim.mutants.hunt import hunt

    return hunt(arguments.only, seeds=arguments.seeds, jobs=arguments.jobs)


def _memory(arguments: argparse.Namespace) -> int:
    from tests.sim.chaos.memory import grown

    failed = False
    for protocol in ("classic", "consumer"):
        growths, read = grown(minutes=arguments.minutes, protocol=protocol)
        say(f"{protocol}: {arguments.minutes} virtual minutes, {read} records, {len(growths)} types have grown")
        for growth in growths:
            failed = True
            say(f"  {growth.kind}: {growth.early} objects, then {growth.late}")
    return int(failed)


def main(words: list[str] | None = None) -> int:
    """Run a command and return its exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.sim", description=__doc__)
    commands = parser.add_subparsers(required=True)
    each = commands.add_parser("run", help="run seeds and check them")
    each.add_argument("--seeds", metavar="A:B")
    each.add_argument("--fresh", type=int, default=0, metavar="N", help="N seeds drawn from the commit's hash")
    for flag, text in (
        ("--producer", "runs of producers; elsewhere a seed is producer:N"),
        ("--aio", "clients for asyncio; elsewhere a seed is aio:N or aio:producer:N"),
        ("--corpus", "the plans of tests/sim/corpus"),
        ("--coverage", "print the pairs of fault and API, and the outcomes of calls"),
        ("--first", "stop at the first failure"),
        ("--once", "run no seed a second time in another process"),
    ):
        each.add_argument(flag, action="store_true", help=text)
    each.add_argument("-j", "--jobs", type=int, default=1)
    each.set_defaults(do=_run)
    each = commands.add_parser("replay", help="run one seed or plan and print what it breaks")
    each.add_argument("what", metavar="SEED|FILE.json")
    each.add_argument("--trace", action="store_true", help="print every step")
    each.add_argument("--history", metavar="FILE", help="write the history as JSON lines")
    each.set_defaults(do=_replay)
    each = commands.add_parser("shrink", help="find a smaller plan that breaks the same rule")
    each.add_argument("what", metavar="SEED|FILE.json")
    each.add_argument("-o", "--output", metavar="FILE")
    each.add_argument("--runs", type=int, default=300)
    each.set_defaults(do=_shrink)
    each = commands.add_parser("diff", help="print the first step in which two runs differ")
    each.add_argument("one")
    each.add_argument("other")
    each.set_defaults(do=_diff)
    each = commands.add_parser("hash", help="print the trace hash of a run")
    each.add_argument("what", metavar="SEED|FILE.json")
    each.set_defaults(do=_hash)
    each = commands.add_parser("mutants", help="show that each planted bug is found")
    each.add_argument("only", nargs="*", help="names of mutants; all without one")
    each.add_argument("--seeds", type=int, default=300, help="the most seeds for each")
    each.add_argument("-j", "--jobs", type=int, default=1)
    each.set_defaults(do=_mutants)
    each = commands.add_parser("memory", help="an hour of one group in which no memory grows")
    each.add_argument("--minutes", type=int, default=60)
    each.set_defaults(do=_memory)
    arguments = parser.parse_args(words)
    code: int = arguments.do(arguments)
    return code
