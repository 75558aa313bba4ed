"""Forty tasks as people type them who come from other tools: each works, or one line names the right command."""

import json
import shlex
from collections.abc import Iterator

import pytest

from kctl.sandbox import Sandbox
from kctl.sandbox.server import ServedSandbox
from tests.cli.processes import kctl

WORKS = [
    ("topics ls -b {b}", "orders"),
    ("topic list -b {b}", "orders"),
    ("-b {b} topics list", "orders"),
    ("topics list --bootstrap-server {b}", "orders"),
    ("topics list --bootstrap-servers {b}", "orders"),
    ("topics list --brokers {b}", "orders"),
    ("topics list -b kafka://{b}", "orders"),
    ("topics list -b PLAINTEXT://{b}", "orders"),
    ("topics list -b '{b},'", "orders"),
    ("topics list -b {b} --json", '"orders"'),
    ("topics describe orders -b {b}", "orders"),
    ("topics create made -p 3 -r 1 -b {b}", "made"),
    ("group list -b {b}", ""),
    ("groups ls -b {b}", ""),
    ("help consume", "Usage: kctl consume"),
    ("help topics create", "Usage: kctl topics create"),
    ("version", "kctl "),
    ("produce orders -k key -b {b}", ""),
    ("produce orders --key key -b {b}", ""),
    ("consume orders -b {b} --from-beginning -e", "record-0"),
    ("consume orders -b {b} -o beginning -e", "record-0"),
    ("consume orders -b {b} -o start -e --json", '"value":"record-0"'),
    ("consume -b {b} orders -o start -e -n 1", "record-0"),
    ("consume orders -b {b} -o -1 -e", "record-4"),
    ("consume orders -b {b} --tail 2", "record-4"),
    ("consume orders -b {b} -o s@1 -e", "record-0"),
    ("consume orders -b {b} -o start -e -f '%t %p %o %v\\n'", "orders 0 0 record-0"),
    ("consume orders -b {b} -o start -e --isolation committed", "record-0"),
]
"""Lines with the cluster's address for {b}, and what is in their output."""

NAMED = [
    ("consume orders -b {b} -c 1", "Did you mean '-n N'?"),
    ("consume orders -b {b} --max-messages 1", "Did you mean '-n N'?"),
    ("consume -t orders -b {b}", "Did you mean 'TOPIC without an option'?"),
    ("consume orders -b {b} -J", "Did you mean '--output jsonl'?"),
    ("consume orders -B {b}", "Did you mean '-b HOST:PORT'?"),
    ("consume orders -b {b} -o 2026-11-22", "write @2026-11-22"),
    ("topics list -b 'a:1 b:2'", "separate them with commas, a:1,b:2"),
    ("topics list -b {b} -X metadata.broker.list=a:1", "did you mean bootstrap.servers?"),
    ("topics list -b {b} -X brokers=a:1", "did you mean bootstrap.servers?"),
    ("topics list -b {b} -X sasl.username=alice", "sasl.username needs sasl.password: $KCTL_SASL_PASSWORD"),
    ("topics rm orders -b {b}", "Did you mean 'delete'?"),
    ("-L -b {b}", "-L of kcat is a command here: kctl probe shows the brokers"),
]
"""Lines that mean something else in kctl, and the words of the one line that names it."""


@pytest.fixture(scope="module")
def cluster() -> Iterator[ServedSandbox]:
    with Sandbox(nodes=1, topics={"orders": 1}).serve() as served:
        records = b"".join(b"record-%d\n" % number for number in range(5))
        assert kctl("produce", "orders", "-b", served.bootstrap, stdin=records).code == 0
        yield served


@pytest.mark.parametrize(("line", "shown"), WORKS)
def test_line_as_people_type_it_works(line: str, shown: str, cluster: ServedSandbox) -> None:
    ended = kctl(*shlex.split(line.format(b=cluster.bootstrap)))
    assert ended.code == 0, ended
    assert shown in ended.stdout.decode(), ended


@pytest.mark.parametrize(("line", "named"), NAMED)
def test_line_of_another_tool_is_answered_with_the_right_one(line: str, named: str, cluster: ServedSandbox) -> None:
    ended = kctl(*shlex.split(line.format(b=cluster.bootstrap)))
    assert (ended.code, ended.stdout) == (2, b""), ended
    assert sum(named in each for each in ended.stderr.splitlines()) == 1, ended


@pytest.mark.parametrize("name", ["KAFKA_BROKERS", "BROKERS"])
def test_variable_of_another_tool_is_answered_with_the_right_one(name: str) -> None:
    ended = kctl("topics", "list", environ={name: "127.0.0.1:1"})
    assert ended.code == 2
    assert ended.stderr.splitlines()[-1] == f"hint: ${name} is not read by kctl: set $KCTL_BOOTSTRAP_SERVERS"


def test_key_of_the_option_is_the_key_of_every_record(cluster: ServedSandbox) -> None:
    lines = kctl("produce", "keyed", "-k", "ann", "-b", cluster.bootstrap, stdin=b"1\n2\n")
    assert lines.code == 0, lines
    read = kctl("consume", "keyed", "-b", cluster.bootstrap, "-o", "start", "-e", "--json")
    assert [json.loads(line)["key"] for line in read.stdout.splitlines()] == ["ann", "ann"]


def test_panel_has_forty_tasks() -> None:
    assert len({line for line, _ in (*WORKS, *NAMED)}) >= 40
