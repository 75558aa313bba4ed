"""Ctrl-C at many points of entire command lines: they exit with 130 and a message, and leave nothing behind."""

import gc
import re
from pathlib import Path

import pytest

import kctl.cli
from kctl.cli.exit_codes import ExitCode
from kctl.cli.interrupts import Interrupted as Signal
from kctl.client.cluster import TopicPartition
from kctl.sandbox import ClusterSettings
from tests.sim.interrupts import Interrupted, some_boundaries
from tests.sim.kit import SimCluster
from tests.sim.kit.command_lines import run_line, use_hub
from tests.sim.virtual import Hub
from tests.support.in_process import Ended

ROOT, CLI = str(Path(kctl.__file__).parent), str(Path(kctl.cli.__file__).parent)
"""All code of kctl, and the code of the commands only, which has far fewer boundaries."""

APPLIED = b"topics: [{name: new}, {name: t, configs: {retention.ms: 5}, partitions: 9}]"
PLAN = b'{"version": 1, "partitions": [{"topic": "t", "partition": 0, "replicas": [2]}]}'
SETTINGS = ClusterSettings(authorizer=True, super_users=("User:ANONYMOUS",))
T0 = TopicPartition("t", 0)
RECORDS = 3
LOOP_ENDS_MS = 100
"""In which the loop of a dropped client has ended."""
LINES = b"".join(b"%d\n" % number for number in range(20))
COMMANDS = {
    "topics list": b"",
    "topics list --trace": b"",
    "topics create new": b"",
    "topics trim t --before end --execute": b"",
    "topics delete t --execute": b"",
    "groups lag g": b"",
    "groups reset-offsets g --to-earliest --execute": b"",
    "why topic t": b"",
    "apply -f -": APPLIED,
    "partitions plan t --to-brokers 1,2": b"",
    "configs set topic t retention.ms=1": b"",
    "quotas set --user ann producer_byte_rate=1MB": b"",
    "acls list": b"",
    "acls create --allow User:a --topic t --operation read": b"",
    "acls delete --principal User:ann --execute": b"",
    "users create bob --password-from env:SECRET": b"",
    "users delete ann --execute": b"",
    "wait topic t": b"",
}
LONGER = {
    "partitions move plan.json": b"",
    "probe": b"",
    "consume t -e": b"",
    "consume t -e -g other": b"",
    "consume t --tail 2": b"",
    "produce t": LINES,
    "produce t -i jsonl": b'{"value": "one"}\n',
    "produce t --transactional": LINES,
    "bench produce -n 20": b"",
    "bench produce -n 20 --topic t": b"",
    "bench consume -n 20": b"",
    "bench end-to-end -n 3": b"",
}
"""Command lines with more code, which is also interrupted at separate points."""

QUICK = ("topics list", "consume t -e -g other", "produce t")
"""A part of `make check`."""
BEFORE = {
    "acls delete": "acls create --allow User:ann --topic t --operation read",
    "users delete": "users create ann --password-from env:SECRET",
}
"""Command lines to run before a command."""


def delivered(ended: Ended) -> int:
    """Return how many records the account of a produce has."""
    found = re.search(r"(?m)^kctl produce: (\d+) records? delivered", ended.stderr)
    return int(found[1]) if found else 0


def check(cluster: SimCluster, line: str, ended: Ended, *, was_interrupted: bool) -> None:
    assert "Traceback" not in ended.stderr
    if was_interrupted:
        assert ended.code == ExitCode.SIGINT, ended
        assert "interrupted" in ended.stderr, ended
    else:
        assert ended.code in (ExitCode.OK, ExitCode.PARTIAL_FAILURE), ended
    if "-g other" in line:
        with cluster.consumer(group_id="other") as consumer:
            committed = consumer.committed([T0])[T0]
        assert (0 if committed is None else committed.offset) <= ended.stdout.count(b"\n"), ended
    if line.startswith("produce") and "--transactional" not in line:
        assert delivered(ended) == sum(len(cluster.values(p)) for p in range(4)) - RECORDS, ended
    if line.startswith("bench") and "--topic" not in line:
        assert not any(name.startswith("kctl-bench") for name in cluster.sandbox.cluster.topics), ended


@pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning")  # interrupted while it was made
@pytest.mark.parametrize(
    ("line", "folder"),
    [
        *(pytest.param(line, ROOT, marks=[] if line in QUICK else pytest.mark.slow) for line in COMMANDS | LONGER),
        *(pytest.param(line, CLI, marks=pytest.mark.nightly) for line in LONGER),
    ],
    ids=lambda word: word.rpartition("/")[2] if word in (ROOT, CLI) else word,
)
def test_interrupted_command_ends_with_130_and_closes_every_connection(
    line: str, folder: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("plan.json").write_bytes(PLAN)

    def interrupt() -> None:
        raise Signal(ExitCode.SIGINT)

    def scene(interrupted: Interrupted) -> None:
        interrupted.handler = interrupt
        with Hub(seed=3) as hub:
            cluster = SimCluster(hub, topics={"t": 4, "u": 2}, settings=SETTINGS)
            use_hub(monkeypatch, cluster)
            ends: list[Ended] = []

            def command() -> None:
                try:
                    ends.append(run_line(cluster, line, (COMMANDS | LONGER)[line]))
                except Signal:  # where `main` catches it
                    raise KeyboardInterrupt from None
                if interrupted.at is not None:
                    raise KeyboardInterrupt

            def app() -> None:
                cluster.write(0, RECORDS)
                cluster.commit("g", {("t", 0): 0})
                before = BEFORE.get(" ".join(line.split()[:2]))
                assert before is None or run_line(cluster, before).code == ExitCode.OK
                was_interrupted = interrupted(command)
                gc.collect(1)  # a client that was dropped while it was made
                hub.sleep_ms(LOOP_ENDS_MS)
                for ended in ends:
                    check(cluster, line, ended, was_interrupted=was_interrupted)

            cluster.run(app)

    assert some_boundaries(scene, points=4, folder=folder) > 1
