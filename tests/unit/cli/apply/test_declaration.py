"""The file of `kctl apply`: what it declares, and mistakes by file and line."""

import io
import os
from pathlib import Path

import pytest

from kctl.cli.apply.declaration import LARGEST_FILE_BYTES, DeclaredTopic, read_declaration
from kctl.cli.apply.state import rule_entry
from kctl.cli.failures import CommandError
from kctl.cli.formats.listing import document_lines
from kctl.cli.output_options import Output
from kctl.client.acls import AclOperation, AclPermission, AclResourceType, AclRule, PatternType

TEXT = """
topics:
  - name: orders
    partitions: 6
    replication_factor: 3
    configs:
      retention.ms: 86400000
      preallocate: true
      cleanup.policy: null
  - name: 42
  - {name: "null", partitions: ~, configs: }
"""


def test_topics_are_read_with_what_the_broker_decides_left_out(tmp_path: Path) -> None:
    path = tmp_path / "topics.yaml"
    path.write_text(TEXT)
    assert read_declaration(str(path), io.BytesIO()).topics == {
        "orders": DeclaredTopic(
            "orders", 6, 3, {"retention.ms": "86400000", "preallocate": "true", "cleanup.policy": None}
        ),
        "42": DeclaredTopic("42", None, None, {}),
        "null": DeclaredTopic("null", None, None, {}),
    }


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "stdin: the file is empty"),
        ("- name: a", "stdin, line 1: the file must be a mapping with the keys topics, acls"),
        ("{}", "stdin, line 1: no topics or acls found"),
        ("topic: []", "stdin, line 1: the file cannot have the field 'topic': did you mean topics?"),
        ("topics: x", "stdin, line 1: field topics must be a list, not 'x'"),
        ("topics:\n  - partitions: 1", "stdin, line 2: a topic has no name"),
        ("topics:\n  - name: a/b", "stdin, line 2: invalid topic name 'a/b'"),
        ("topics:\n  - name: [a]", "stdin, line 2: field name must be a string, not a list"),
        ("topics:\n  - name: a\n    partitions: 0", "stdin, line 3: field partitions must be an integer from 1 to"),
        ("topics:\n  - name: a\n    partitions: 1e3", "stdin, line 3: field partitions must be an integer"),
        ("topics:\n  - name: a\n    partitions: 99999999999", "stdin, line 3: field partitions must be an integer"),
        (
            "topics:\n  - name: a\n    replication_factor: 40000",
            "stdin, line 3: field replication_factor must be an integer",
        ),
        ("topics:\n  - name: a\n    replicas: 3", "stdin, line 3: a topic cannot have the field 'replicas'"),
        (
            "topics:\n  - name: a\n    configs: [x]",
            "stdin, line 3: field configs must be a mapping of configs to values",
        ),
        ("topics:\n  - name: a\n    configs: {k: [1]}", "stdin, line 3: field k must be a single value"),
        ("topics:\n  - name: a\n  - name: a", "stdin, line 3: topic a appears twice"),
        ("acls:\n  - operation: read", "stdin, line 2: an ACL has no field principal"),
        (
            "acls:\n  - {principal: ann, operation: read, resource_type: topic, name: t}",
            "stdin, line 2: invalid principal 'ann'",
        ),
        (
            "acls:\n  - {principal: User:a, operation: eat, resource_type: topic, name: t}",
            "stdin, line 2: invalid operation 'eat'",
        ),
        (
            "acls:\n  - {principal: User:a, operation: any, resource_type: topic, name: t}",
            "stdin, line 2: invalid operation 'any'",
        ),
        (
            "acls:\n  - {principal: User:a, operation: read, resource_type: topic}",
            "stdin, line 2: an ACL has no resource name",
        ),
        ("topics:\n  - &a {name: x}\n  - *a", "stdin, line 2: anchors"),
    ],
)
def test_mistake_is_named_by_line(text: str, says: str) -> None:
    with pytest.raises(CommandError) as caught:
        read_declaration("-", io.BytesIO(text.encode()))
    assert str(caught.value).startswith(says)


def test_declaration_above_the_largest_size_is_refused() -> None:
    with pytest.raises(CommandError, match="stdin: the file is larger than 67108864 bytes"):
        read_declaration("-", io.BytesIO(bytes(LARGEST_FILE_BYTES + 1)))


def test_pipe_without_a_writer_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    with pytest.raises(CommandError, match="fifo: the file is a pipe without a writer"):
        read_declaration(str(tmp_path / "fifo"), io.BytesIO())


@pytest.mark.nightly
def test_exported_file_with_50_000_rules_is_accepted() -> None:
    rule = AclRule(
        AclResourceType.TOPIC,
        "t",
        PatternType.LITERAL,
        "User:a",
        "*",
        AclOperation.READ,
        AclPermission.ALLOW,
    )
    rules = [rule._replace(resource_name=f"topic-of-a-team-{number}") for number in range(50_000)]
    text = "\n".join(document_lines(Output.YAML, {"topics": [], "acls": [rule_entry(each) for each in rules]}))
    assert read_declaration("-", io.BytesIO(text.encode())).acls == rules
