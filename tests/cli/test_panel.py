"""172 lines and more as people type them who come from other tools: each works, or names the right one."""

import json
import shlex
from pathlib import Path

import pytest

from kctl.sandbox import Sandbox
from tests.cli.processes import kctl

WORKS = [
    "brokers logdirs",
    "configs show --entity-type topics --entity-name orders",
    "configs --describe --entity-type topics --entity-name orders",
    "consume orders -e",
    "consume orders -c 3",
    "consume -t orders -e",
    "consume orders -o beginning -e",
    "consume orders -o -5 -e",
    "consume orders -J -e",
    "consume orders -J -c 1",
    "consume orders -K : -e",
    "consume orders -p 0 -o 0 -c 1",
    "consume orders -o s@1 -e",
    "consume orders -o s@1 -o e@9999999999999",
    "consume orders -D ';' -e",
    "consume -G billing orders -e",
    "consume -e -q orders",
    "consume orders -u -e",
    "-G billing orders -e",
    "-C -t orders -e",
    "-P -t orders",
    "produce orders -z zstd",
    "produce -t orders",
    "produce orders -K :",
    "produce orders -k ann",
    "produce orders -H a=b",
    "produce orders -p 0 -Z",
    "consume orders -X auto.offset.reset=earliest -e",
    "consume orders -F {properties} -e",
    "topics --list",
    "topics --describe --topic orders",
    "topics --create --topic new1",
    "topics list --bootstrap-server {b}",
    "topics describe --topic orders",
    "topics create --topic new2 --partitions 3 --replication-factor 1",
    "topics create new3 --partitions 2 --config retention.ms=1000",
    "topics delete --topic new3 --force",
    "topics alter orders --partitions 4",
    "topics alter orders --set retention.ms=100000",
    "topics alter orders --config retention.ms=100000",
    "topics describe orders --under-replicated-partitions",
    "topics list --exclude-internal",
    "topics describe orders --unavailable-partitions",
    "topics list --unavailable-partitions",
    "consume --topic orders --from-beginning --max-messages 2",
    "consume orders --partition 0 --offset earliest --max-messages 1",
    "consume orders --isolation-level read_committed -e",
    "consume orders --consumer.config {properties} -e",
    "consume orders --group g9 --from-beginning -e",
    "produce --topic orders",
    "produce orders --request-required-acks 1",
    "produce orders --compression-codec gzip",
    "produce orders --producer.config {properties}",
    "produce orders --sync",
    "groups --list",
    "groups --describe --group billing",
    "groups --describe --all-groups",
    "groups describe --group billing",
    "groups describe --all-groups",
    "groups reset-offsets billing --to-earliest --all-topics --dry-run",
    "groups reset-offsets billing --to-earliest --topic orders --execute",
    "groups reset-offsets --group billing --topic orders --to-latest",
    "groups reset-offsets billing --shift-by -1 --execute",
    "groups delete --group old",
    "configs describe topic orders",
    "configs get topic orders",
    "configs set topic orders retention.ms=200000",
    "get-offsets orders",
    "log-dirs",
    "logdirs",
    "brokers list",
    "partitions plan orders --broker-list 1",
    "transactions list",
    "cluster describe",
    "topic list",
    "topic create new4 -p 3 -r 1",
    "topic create new5 -c retention.ms=1000",
    "topic create new6 --topic-config retention.ms=1000",
    "topic describe orders",
    "topic describe orders -p",
    "topic delete new6 --yes",
    "topic delete new5 -y",
    "topic consume orders -n 1",
    "topic consume orders -o start -n 1",
    "topic consume orders -n 1 -f '%v\\n'",
    "topic consume orders -n 1 --format json",
    "topic produce orders",
    "topic produce orders -k ann",
    "topic alter-config orders --set retention.ms=100000",
    "topic trim-prefix orders -o 1",
    "group list",
    "group describe billing",
    "group delete old",
    "cluster info",
    "cluster health",
    "topics list --format json",
    "profile list",
    "get topics",
    "get topic orders",
    "list topics",
    "describe topic orders",
    "describe group billing",
    "create topic new7",
    "delete topic new7",
    "get groups",
    "get brokers",
    "get consumer-groups",
    "topics get orders",
    "topics list -o json",
    "topics list -o yaml",
    "consume orders --tail 5",
    "consume orders --output json -e",
    "consume orders --exit",
    "consume orders --since 1h -e",
    "consume orders -o -1h -e",
    "consume orders -o @-1h -e",
    "topics rm new4",
    "topics rm new4 --execute",
    "topics delete '/new.*/'",
    "topics delete '/new.*/' --execute",
    "topics describe '/ord.*/'",
    "topics offsets '/ord.*/'",
    "groups rm old",
    "groups delete '/old.*/'",
    "groups lag",
    "groups lag billing",
    "groups lag --all",
    "groups lag '/bil.*/'",
    "lag billing",
    "why billing",
    "why orders",
    "why group billing",
    "doctor",
    "status",
    "probe {b}",
    "ping {b}",
    "probe",
    "nodes",
    "topics ls",
    "health",
    "-b {b} topics list",
    "topics list -X ssl.ca.location={ca}",
    "topics list --json",
    "transactions describe --transactional-id t1",
]
"""Lines that do what is meant: they exit with 0, or with 3 after findings."""

NAMED = [
    ("consume orders -f '%k=%s\\n' -e", "did you mean %v?"),
    ("-L", "kctl does not support the kcat mode -L"),
    ("-Q -t orders:0:1", "kctl does not support the kcat mode -Q"),
    ("produce orders -l {file}", "Did you mean 'kctl produce TOPIC FILE'?"),
    ("produce orders -T", "Did you mean 'tee FILE | kctl produce TOPIC'?"),
    ("produce orders -m hello", "Did you mean 'echo VALUE | kctl produce TOPIC'?"),
    ("consume orders --from-beginning --timeout-ms 300", "use 300s for seconds or 300ms"),
    ("consume orders --property print.key=true -e", "Did you mean '-f '%k %v\\n''?"),
    ("consume --whitelist 'ord.*' -e", "Did you mean 'kctl consume /PATTERN/'?"),
    ("consume --include 'ord.*' -e", "Did you mean 'kctl consume /PATTERN/'?"),
    ("produce orders --property parse.key=true --property key.separator=:", "Did you mean '-K TEXT'?"),
    ("groups describe billing --offsets", "Did you mean 'groups lag GROUP'?"),
    ("groups describe billing --members", "Did you mean 'groups members GROUP'?"),
    ("groups describe billing --state", "Did you mean 'groups describe GROUP'?"),
    ("configs alter topic orders --add-config retention.ms=1", "Did you mean 'configs set'?"),
    ("acls --list", "SECURITY_DISABLED"),
    ("acls list --topic orders", "SECURITY_DISABLED"),
    ("acls create --allow-principal User:ann --operation read --topic orders", "SECURITY_DISABLED"),
    ("acls create --add --allow-principal User:ann", "Did you mean 'acls create'?"),
    ("topics offsets orders --time -1", "Did you mean '--at @TIME'?"),
    ("partitions list --under-replicated", "Did you mean 'topics list --under-replicated'?"),
    ("partitions reassign", "Did you mean 'partitions plan'?"),
    ("partitions plan orders --brokers 1", "For broker IDs, use --to-brokers"),
    ("leader-election", "Did you mean 'partitions elect'?"),
    ("cluster cluster-id", "Did you mean 'cluster describe'?"),
    ("broker-api-versions", "Did you mean 'probe'?"),
    ("topic add-partitions orders --num 1", "Did you mean 'topics alter --partitions TOTAL'?"),
    ("topic describe-storage orders", "Did you mean 'topics describe --size'?"),
    ("group describe billing --print-summary", "Did you mean 'groups describe GROUP'?"),
    ("group seek billing --to start", "Did you mean '--to-latest or --to-earliest'?"),
    ("cluster metadata", "Did you mean 'cluster describe'?"),
    ("cluster config get x", "Did you mean 'configs show broker ID'?"),
    ("cluster logdirs describe", "Did you mean 'brokers log-dirs'?"),
    ("topics list -X brokers={b}", "did you mean bootstrap.servers?"),
    ("topics list -X tls.enabled=true", "did you mean security.protocol?"),
    ("profile create p -s brokers={b}", "Did you mean '-X KEY=VALUE'?"),
    ("registry subject list", "Did you mean 'schemas list'?"),
    ("describe broker 1", "Did you mean 'cluster describe'?"),
    ("topics list -o wide", "this command offers table"),
    ("config use-context prod", "Did you mean 'profile use'?"),
    ("config get-contexts", "Did you mean 'profile list'?"),
    ("consume orders --output json-raw -e", "this command offers jsonl"),
    ("consume orders -o json -e", "'json' is not an offset"),
    ("consume orders --print-keys --exit", "Did you mean '-f '%k %v\\n''?"),
    ("consume orders -o @1h -e", "use @-1h"),
    ("why nothing-there", "no group or topic 'nothing-there' found"),
    ("topics add-partitions", "Did you mean 'topics alter --partitions TOTAL'?"),
    ("metadata", "Did you mean 'probe'?"),
    ("-C t -b {b}", "kctl does not support the kcat mode -C: use kctl consume TOPIC"),
]
"""Lines that mean something else in kctl, and the words that name it."""

TYPED, WORKING = 172, 120
"""How many lines there are at least, and how many of them work."""


def test_each_line_works_or_names_the_right_one(tmp_path: Path) -> None:
    files = {"properties": tmp_path / "client.properties", "file": tmp_path / "records", "ca": tmp_path / "ca.pem"}
    files["properties"].write_text("client.id=x\n")
    files["file"].write_text("a\n")
    wrong = []
    with Sandbox(nodes=1, topics={"orders": 3, "payments": 1}).serve() as served:
        environ = {"KCTL_BOOTSTRAP_SERVERS": served.bootstrap, "XDG_CONFIG_HOME": str(tmp_path)}
        names = {"b": served.bootstrap, **files}

        def run(line: str, stdin: bytes = b"k:v\n") -> tuple[int, str]:
            ended = kctl(*shlex.split(line.format_map(names)), stdin=stdin, environ=environ)
            return ended.code, ended.stderr

        assert run("produce orders -K :", b"".join(b"k%d:v%d\n" % (i, i) for i in range(20)))[0] == 0
        assert run("produce orders --transactional-id t1")[0] == 0
        assert run("consume orders -g billing -e")[0] == 0
        for group in ("old", "old2"):
            assert run(f"groups reset-offsets {group} --topic payments --to-earliest --create --execute")[0] == 0
        for line in WORKS:
            code, told = run(line)
            if code not in (0, 3):
                wrong.append((line, code, told))
        for line, named in NAMED:
            code, told = run(line)
            if code in (0, 3) or named not in told:
                wrong.append((line, code, told))
    assert wrong == [], wrong


def test_there_are_as_many_lines_as_promised() -> None:
    lines = {*WORKS, *(line for line, _ in NAMED)}
    assert len(lines) == len(WORKS) + len(NAMED) >= TYPED
    assert len(WORKS) >= WORKING


@pytest.mark.parametrize("name", ["KAFKA_BROKERS", "BROKERS"])
def test_variable_of_another_tool_is_answered_with_the_right_one(name: str) -> None:
    ended = kctl("topics", "list", environ={name: "127.0.0.1:1"})
    assert ended.code == 2
    assert (
        ended.stderr.splitlines()[-1]
        == f"hint: set $KCTL_BOOTSTRAP_SERVERS instead of ${name}, which kctl does not read"
    )


def test_key_of_the_option_is_the_key_of_every_record(bootstrap: str, topic: str) -> None:
    lines = kctl("produce", topic, "-k", "ann", "-b", bootstrap, stdin=b"1\n2\n")
    assert lines.code == 0, lines
    read = kctl("consume", topic, "-b", bootstrap, "-o", "start", "-e", "--json")
    assert [json.loads(line)["key"] for line in read.stdout.splitlines()] == ["ann", "ann"]


def test_pattern_stands_for_all_topics_and_groups_that_match(bootstrap: str, topic: str) -> None:
    for name in (f"{topic}-a", f"{topic}-b", f"{topic}-c"):
        assert kctl("topics", "create", name, "-p", "1", "-b", bootstrap).code == 0
    pattern = f"/{topic}-[ab]/"
    altered = kctl("topics", "alter", pattern, "--config", "retention.ms=1000", "-b", bootstrap, "--json")
    assert [row["topic"] for row in json.loads(altered.stdout)["rows"]] == [f"{topic}-a", f"{topic}-b"]
    shown = kctl("topics", "offsets", pattern, "-b", bootstrap, "--json")
    assert [row["topic"] for row in json.loads(shown.stdout)["rows"]] == [f"{topic}-a", f"{topic}-b"]
    deleted = kctl("topics", "delete", pattern, "--execute", "-b", bootstrap, "--json")
    assert [row["topic"] for row in json.loads(deleted.stdout)["rows"]] == [f"{topic}-a", f"{topic}-b"]
    none = kctl("topics", "delete", pattern, "--execute", "-b", bootstrap)
    assert (none.code, f"no topic matches {pattern}" in none.stderr) == (23, True)
    for name in (f"{topic}-g1", f"{topic}-g2"):
        reset = ("--topic", f"{topic}-c", "--to-earliest", "--create", "--execute")
        assert kctl("groups", "reset-offsets", name, *reset, "-b", bootstrap).code == 0
    lag = kctl("groups", "lag", f"/{topic}-g./", "-b", bootstrap, "--json")
    assert [row["group"] for row in json.loads(lag.stdout)["rows"]] == [f"{topic}-g1", f"{topic}-g2"]
    gone = kctl("groups", "delete", f"/{topic}-g./", "--execute", "-b", bootstrap, "--json")
    assert [row["group"] for row in json.loads(gone.stdout)["rows"]] == [f"{topic}-g1", f"{topic}-g2"]


def test_name_alone_finds_the_group_or_the_topic(bootstrap: str, topic: str) -> None:
    reset = ("--topic", topic, "--to-earliest", "--create", "--execute")
    assert kctl("groups", "reset-offsets", topic, *reset, "-b", bootstrap).code == 0
    both = kctl("why", topic, "-b", bootstrap)
    assert f"no problems found in group {topic} and topic {topic}" in " ".join(both.stdout.decode().split())
    wrong = kctl("why", f"{topic}x", "-b", bootstrap)
    assert (wrong.code, f"did you mean {topic}?" in wrong.stderr) == (23, True)
    assert "No such command 'grup'" in kctl("why", "grup", "x", "-b", bootstrap).stderr
