"""The command lines that runbooks quote, word for word, each with its exit code.

Run as whole processes by tests/cli/test_exact_words.py on the sandbox.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple, Protocol

import yaml


class EndedCommand(Protocol):
    """A process that has ended."""

    @property
    def code(self) -> int: ...
    @property
    def stdout(self) -> bytes: ...
    @property
    def stderr(self) -> str: ...


class Line(NamedTuple):
    """A command line, the exit code that it must have, and a text that its output must contain."""

    words: str
    code: int = 0
    prints: str = ""


PREPARED = (
    Line("produce {topic} {records} --transactional-id {transaction}"),
    Line("consume {topic} -g {group} -n 1 -e -X auto.offset.reset=earliest"),
)
"""What the lines below are about."""

EXACT_WORDS = (
    Line("apply -f {declaration}", prints="+ topic {topic}"),
    Line("apply -f {declaration} --diff"),
    Line("wait topic {topic}"),
    Line("wait topic {topic} --partitions 2"),
    Line("wait topic {topic} --partitions 9 --api-timeout 1s", 17, "{topic} has 2 of 9 partitions"),
    *PREPARED,
    Line("topics alter {topic} --config retention.ms=86400000 --partitions 3 --yes"),
    Line("wait topic {topic} --partitions 3"),
    Line("topics offsets {topic}"),
    Line("topics trim {topic} --before 1"),
    Line("topics trim {topic} --before 1 --yes"),
    Line("configs show topic {topic}", prints="86400000"),
    Line("configs show broker 1"),
    Line("configs show group {group}"),
    Line("groups lag {group} --output jsonl", prints='"lag_ms":'),
    Line("users create {user} --password-file {password}"),
    Line("acls check {user} --topic {topic} --operation read", 3),
    Line("acls create --allow User:{user} --operation read --topic {topic}"),
    Line("acls create --allow User:{user} --operation read --group {group}"),
    Line("acls create --deny User:{user} --operation alter --cluster"),
    Line("acls check User:{user} --topic {topic} --operation read"),
    Line("acls check User:{user} --topic {topic} --operation write", 3),
    Line("acls check User:{user} --group {group} --operation read"),
    Line("acls check User:{user} --cluster --operation alter", 3),
    Line("quotas set --user {user} producer_byte_rate=1048576"),
    Line("quotas list --user {user}", prints="1048576"),
    Line("cluster describe"),
    Line("cluster quorum"),
    Line("brokers log-dirs"),
    Line("partitions plan {topic} --to-brokers 1"),
    Line("partitions move {plan}"),
    Line("partitions elect {topic}"),
    Line("transactions list", prints="{transaction}"),
    Line("transactions describe {transaction}", prints="{transaction}"),
    Line("transactions hanging --topic {topic}"),
    Line("transactions abort {topic}:0", prints="no hanging transactions found on {topic}-0"),
    Line("api Metadata"),
    Line('api Metadata {{"Topics":[{{"Name":"{topic}"}}]}}', prints='"{topic}"'),
    Line('api Metadata {{"topics":[{{"name":"{topic}"}}]}}', prints='"{topic}"'),
    Line("topics describe {topic}-absent", 23),
)


def run_exact_words(run: Callable[..., EndedCommand], topic: str, folder: Path) -> None:
    """Run each line in turn on a cluster of one node with an authorizer, on which the caller is a super user."""
    records, password = folder / "records", folder / "password"
    plan, declaration = folder / "plan.json", folder / "topics.yaml"
    records.write_text("a\nb\nc\n")
    password.write_text("runbook-secret\n")
    moved = [{"topic": topic, "partition": 0, "replicas": [1]}]
    plan.write_text(json.dumps({"version": 1, "partitions": moved}))
    declared = {"name": topic, "partitions": 2, "replication_factor": 1, "configs": {"retention.ms": 604800000}}
    declaration.write_text(yaml.safe_dump({"topics": [declared]}, sort_keys=False))
    names = {"topic": topic, "group": f"{topic}-g", "user": f"{topic}-u", "transaction": f"{topic}-t"}
    files = {"records": records, "password": password, "plan": plan, "declaration": declaration}
    wrong = []
    for line in EXACT_WORDS:
        ended = run(*(word.format(**names, **files) for word in line.words.split()))
        printed = ended.stdout.decode() + ended.stderr
        if ended.code != line.code or line.prints.format(**names) not in printed or "Traceback" in printed:
            wrong.append((line, ended))
    assert wrong == [], "\n".join(f"{line} {ended}" for line, ended in wrong)
