"""The table of findings: each row is complete, its commands exist, and its templates can be filled."""

import shlex

import pytest

from kctl.grammar.command_lines import Words, fill_command
from kctl.why.finding import FindingKind, is_command
from kctl.why.table import FINDINGS, REQUEST_RIGHTS, rights_of
from tests.docs.test_migration import parse

EVERY = list(FINDINGS.values())
VALUES: dict[str, str | int] = {
    "numbers": "0,2", "others": Words(" --topic 'x y':1"), "rest": Words(""),
    "before": 9, "stop": Words(""), "instance": "pod-1", "client": "app",
    "broker": 1, "bytes": 1, "end": 5, "follower": "retention.ms", "group": "billing", "id": "copier", "kind": "topic",
    "leader": "retention.bytes", "least": 2, "longer": 1, "name": "compression.type", "next": 8, "node": 1, "number": 0,
    "offset": 7, "partition": "orders-0", "possible": 1, "topic": "orders",
}  # fmt: skip


@pytest.mark.parametrize("kind", EVERY, ids=lambda kind: kind.id)
def test_row_has_every_field(kind: FindingKind) -> None:
    assert all((kind.title, kind.scopes, kind.requests, kind.sentence, kind.leads_to, kind.show, kind.cure))
    assert kind.looks in (1, 2)
    assert kind.leads_to.endswith(".")
    assert not kind.sentence.endswith(".")
    assert set(kind.requests) <= REQUEST_RIGHTS.keys()
    assert rights_of(kind)


@pytest.mark.parametrize("kind", EVERY, ids=lambda kind: kind.id)
def test_commands_of_a_row_are_commands_of_kctl(kind: FindingKind) -> None:
    for template in (kind.show, kind.cure):
        if is_command(template):
            parse(shlex.split(fill_command(template, VALUES))[1:])


def test_ids_are_unique() -> None:
    assert len({kind.id for kind in EVERY}) == len(EVERY)
