"""YAML nodes with line numbers, for errors.

Rejects aliases, anchors, tags, duplicate keys, several documents, and too many values or levels. Scalars keep their
text: `retention.ms: 0100` and `no` are strings. JSON files are valid YAML.
"""

from typing import Any

DEEPEST = 10
MOST_NODES = 3_000_000
NULLS = ("", "~", "null", "Null", "NULL")
_SHOWN_CHARS = 60


class YamlRefused(Exception):
    """Invalid YAML file. `line` counts from 1; None if no line is known."""

    def __init__(self, line: int | None, why: str) -> None:
        super().__init__(why)
        self.line = line


class Scalar:
    """Scalar. `is_plain`: whether it is written without quotes."""

    __slots__ = ("is_plain", "line", "text")

    def __init__(self, text: str, line: int, *, is_plain: bool) -> None:
        self.text = text
        self.line = line
        self.is_plain = is_plain

    @property
    def is_null(self) -> bool:
        return self.is_plain and self.text in NULLS


class Items:
    __slots__ = ("items", "line")

    def __init__(self, line: int) -> None:
        self.items: list[Node] = []
        self.line = line


class Fields:
    """Mapping with scalar keys, in the order of the file."""

    __slots__ = ("fields", "line", "lines")

    def __init__(self, line: int) -> None:
        self.fields: dict[str, Node] = {}
        self.lines: dict[str, int] = {}
        """Lines of the keys."""
        self.line = line


Node = Scalar | Items | Fields


def _decoded(data: bytes) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as e:
        raise YamlRefused(data.count(b"\n", 0, e.start) + 1, f"byte {e.start} is not valid UTF-8") from None


def parse_yaml(data: bytes) -> Node:
    """Return the root node of a file with one document. Raises: YamlRefused."""
    import yaml  # deferred import: takes 15ms

    text = _decoded(data)
    try:
        return _Reader(yaml, getattr(yaml, "CSafeLoader", yaml.SafeLoader)(text)).document()
    except yaml.MarkedYAMLError as e:
        mark = e.problem_mark or e.context_mark
        raise YamlRefused(
            None if mark is None else mark.line + 1, str(e.problem or "the file is not valid YAML")
        ) from None
    except (yaml.YAMLError, ValueError, RecursionError) as e:
        at = getattr(e, "position", None)
        why = (
            "the file contains a character that YAML does not allow" if at is not None else "the file is not valid YAML"
        )
        raise YamlRefused(None if at is None else text.count("\n", 0, at) + 1, why) from None


def shown(text: str) -> str:
    """Quote a text of the file for an error message, and shorten long texts."""
    return repr(text if len(text) <= _SHOWN_CHARS else f"{text[:_SHOWN_CHARS]}...")


class _Reader:
    def __init__(self, yaml: Any, parser: Any) -> None:
        self._yaml = yaml
        self._next = parser.get_event
        self._count = 0

    def document(self) -> Node:
        yaml = self._yaml
        root: Node | None = None
        while not isinstance(event := self._next(), yaml.StreamEndEvent):
            if isinstance(event, yaml.DocumentStartEvent):
                line = event.start_mark.line + 1
                if root is not None:
                    raise YamlRefused(line, "only one YAML document is supported")
                root = self._node(self._next(), 0)
        return Scalar("", 1, is_plain=True) if root is None else root

    def _node(self, event: Any, depth: int) -> Node:
        yaml, kind, line = self._yaml, type(event), event.start_mark.line + 1
        if kind is yaml.AliasEvent:  # a few lines of aliases can expand to gigabytes
            raise YamlRefused(line, f"aliases (*{event.anchor[:_SHOWN_CHARS]}) are not supported")
        if event.anchor is not None:
            raise YamlRefused(line, f"anchors (&{event.anchor[:_SHOWN_CHARS]}) are not supported")
        if event.tag is not None:
            raise YamlRefused(line, f"tags ({event.tag[:_SHOWN_CHARS]}) are not supported")
        self._count += 1
        if self._count > MOST_NODES:
            raise YamlRefused(line, f"the file has more than {MOST_NODES} values")
        if kind is yaml.ScalarEvent:
            return Scalar(event.value, line, is_plain=event.implicit[0])
        if depth == DEEPEST:
            raise YamlRefused(line, "the file is nested too deeply")
        return self._fields(line, depth + 1) if kind is yaml.MappingStartEvent else self._items(line, depth + 1)

    def _items(self, line: int, depth: int) -> Items:
        made, end = Items(line), self._yaml.SequenceEndEvent
        while type(event := self._next()) is not end:
            made.items.append(self._node(event, depth))
        return made

    def _fields(self, line: int, depth: int) -> Fields:
        made, end = Fields(line), self._yaml.MappingEndEvent
        while type(event := self._next()) is not end:
            key = self._node(event, depth)
            if not isinstance(key, Scalar):
                raise YamlRefused(key.line, "a key must be a string, not a list or mapping")
            if key.text in made.fields:
                raise YamlRefused(
                    key.line, f"key {shown(key.text)} appears twice, first in line {made.lines[key.text]}"
                )
            made.lines[key.text] = key.line
            made.fields[key.text] = self._node(self._next(), depth)
        return made
