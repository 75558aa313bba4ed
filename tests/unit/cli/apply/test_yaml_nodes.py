"""YAML as nodes with lines: texts stay as written, and what is hostile is refused by line."""

import pytest

from kctl.cli.apply.yaml_nodes import (
    Fields,
    Items,
    Node,
    Scalar,
    YamlRefused,
    parse_yaml,
)


def plain(node: Node) -> object:
    if isinstance(node, Scalar):
        return None if node.is_null else node.text
    return (
        [plain(each) for each in node.items]
        if isinstance(node, Items)
        else {key: plain(each) for key, each in node.fields.items()}
    )


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("a: 010", {"a": "010"}),
        ("a: no", {"a": "no"}),
        ("a: 1.10", {"a": "1.10"}),
        ("a: '~'", {"a": "~"}),
        ("a: ~", {"a": None}),
        ("a:", {"a": None}),
        ("", None),
        ("# nothing", None),
        ('{"a": [1, {"b": null}], "c": "x\\ny"}', {"a": ["1", {"b": None}], "c": "x\ny"}),
        ("\ufeffa: é", {"a": "é"}),
    ],
)
def test_scalars_keep_their_text(text: str, found: object) -> None:
    assert plain(parse_yaml(text.encode())) == found


def test_nodes_know_their_lines() -> None:
    root = parse_yaml(b"# first\na: 1\nb:\n  - x\n  - y\n")
    assert isinstance(root, Fields)
    assert root.lines == {"a": 2, "b": 3}
    items = root.fields["b"]
    assert isinstance(items, Items)
    assert [each.line for each in items.items] == [4, 5]


BOMB = b"a: &a [x,x]\nb: &b [*a,*a]\nc: [*b,*b]\n"


@pytest.mark.parametrize(
    ("data", "line", "why"),
    [
        (BOMB, 1, "anchors (&a)"),
        (b"a: 1\nb: *a\n", 2, "alias"),
        (b"a: 1\nb: !!python/object/apply:os.system [x]\n", 2, "tags (tag:yaml.org,2002:python/object/apply"),
        (b"a: 1\na: 2\n", 2, "key 'a' appears twice, first in line 1"),
        (b"a: 1\n---\nb: 2\n", 2, "only one YAML document"),
        (b"a: [\n", 2, "expected"),
        (b"a: 1\n\tb: 2\n", 2, ""),
        (b"a: 1\nb: \x01\n", 2, "character that YAML does not allow"),
        (b"a: 1\nb: \xff\n", 2, "byte 8 is not valid UTF-8"),
        (b"[a]: 1\n", 1, "a key must be a string"),
        (b"[" * 11 + b"]" * 11, 1, "nested too deeply"),
        (b"[" * 100_000, 1, "nest"),
        pytest.param(b"[" + b"0," * 3_000_001 + b"]", 1, "more than 3000000 values", marks=pytest.mark.nightly),
    ],
)
def test_hostile_or_malformed_yaml_is_refused_by_line(data: bytes, line: int | None, why: str) -> None:
    with pytest.raises(YamlRefused) as caught:
        parse_yaml(data)
    assert (caught.value.line, why in str(caught.value)) == (line, True), caught.value
