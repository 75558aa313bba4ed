"""Unknown names of topics and groups: exit code 23, and a hint with the name that was probably meant."""

from collections.abc import Iterator

import pytest

from kctl.cli.exit_codes import ExitCode
from kctl.sandbox import Sandbox
from kctl.sandbox.server import ServedSandbox
from tests.cli.processes import kctl

TOPIC = "hint: did you mean orders?\n"
GROUP = "hint: did you mean billing?\n"
USER = "hint: did you mean alice?\n"


@pytest.fixture(scope="module")
def served() -> Iterator[ServedSandbox]:
    with Sandbox(nodes=2, topics={"orders": 2}).serve() as cluster:
        words = ("groups", "reset-offsets", "billing", "--create", "--topic", "orders", "--to-earliest", "--execute")
        assert kctl(*words, "-b", cluster.bootstrap).code == 0
        user = ("users", "create", "alice", "--password-from", "env:PW", "-b", cluster.bootstrap)
        assert kctl(*user, environ={"PW": "secret"}).code == 0
        yield cluster


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        ("topics describe ordrs", TOPIC),
        ("topics describe ordrs --size", TOPIC),
        ("topics describe ordrs --configs", TOPIC),
        ("topics delete ordrs --execute", TOPIC),
        ("configs show topic ordrs", TOPIC),
        ("partitions elect ordrs", TOPIC),
        ("partitions plan ordrs --to-brokers 1,2", TOPIC),
        ("transactions hanging --topic ordrs", TOPIC),
        ("why topic ordrs", TOPIC),
        ("doctor --topic orders --topic ordrs", TOPIC),
        ("groups lag billing --topic ordrs", TOPIC),
        ("groups reset-offsets billing --topic ordrs --to-earliest", TOPIC),
        ("consume ordrs -e", TOPIC),
        ("users list alce", USER),
        ("users delete alce", USER),
        ("groups lag biling", GROUP),
        ("groups describe biling", GROUP),
        ("groups members biling", GROUP),
        ("groups reset-offsets biling --to-earliest", "hint: did you mean billing? create the group with --create\n"),
        ("groups delete-offsets biling --topic orders", GROUP),
        ("groups remove-members biling --instance one", GROUP),
        ("groups delete biling", GROUP),
        ("why group biling", GROUP),
        ("doctor --group biling", GROUP),
    ],
)
def test_unknown_name_hints_at_the_nearest(served: ServedSandbox, words: str, hint: str) -> None:
    ended = kctl(*words.split(), "-b", served.bootstrap)
    assert (ended.code, hint in ended.stderr) == (ExitCode.UNKNOWN_RESOURCE, True), ended


def test_name_like_no_other_keeps_the_usual_hint(served: ServedSandbox) -> None:
    ended = kctl("groups", "lag", "zzz", "-b", served.bootstrap)
    assert (ended.code, "Brokers delete a group after" in ended.stderr) == (
        ExitCode.UNKNOWN_RESOURCE,
        True,
    ), ended
