"""YAML as nodes that know their line: for files whose mistakes are reported by line.

Owns what is refused: aliases, anchors, tags, duplicate keys, several documents, and too many values or levels. Scalars
keep their text, so that `retention.ms: 0100` or `no` mean what is written. JSON is YAML, too.
"""

from collections.abc import Iterator
from typing import Any

DEEPEST = 10
MOST_NODES = 500_000
NULLS = ("", "~", "null", "Null", "NULL")
_SHOWN_CHARS = 60


class YamlRefused(Exception):
    """A file is not taken; `line` counts from 1, None where no line can be named."""

    def __init__(self, line: int | None, why: str) -> None:
        super().__init__(why)
        self.line = line


class Scalar:
    """A text, and whether it was written without quotes."""

    __slots__ = ("is_plain", "line", "text")

    def __init__(self, text: str, line: int, *, is_plain: bool) -> None:
        self.text = text
        self.line = line
        self.is_plain = is_plain

    @property
    def is_null(self) -> bool:
        return self.is_plain and self.text in NULLS


class Items:
    """A sequence."""

    __slots__ = ("items", "line")

    def __init__(self, line: int) -> None:
        self.items: list[Node] = []
        self.line = line


class Fields:
    """A mapping whose keys are scalars, in order."""

    __slots__ = ("fields", "line", "lines")

    def __init__(self, line: int) -> None:
        self.fields: dict[str, Node] = {}
        self.lines: dict[str, int] = {}
        """Of the keys."""
        self.line = line


Node = Scalar | Items | Fields


def _decoded(data: bytes) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as e:
        raise YamlRefused(data.count(b"\n", 0, e.start) + 1, f"byte {e.start} is not UTF-8") from None


def parse_yaml(data: bytes) -> Node:
    """Return the root of the one document. Raises: YamlRefused."""
    import yaml  # 15 ms, wanted only here

    text = _decoded(data)
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        return _Reader(_checked(yaml, yaml.parse(text, Loader=loader))).document()
    except yaml.MarkedYAMLError as e:
        mark = e.problem_mark or e.context_mark
        raise YamlRefused(None if mark is None else mark.line + 1, str(e.problem or "not YAML")) from None
    except (yaml.YAMLError, ValueError, RecursionError) as e:
        at = getattr(e, "position", None)
        why = "a character that YAML does not allow" if at is not None else "not YAML"
        raise YamlRefused(None if at is None else text.count("\n", 0, at) + 1, why) from None


def shown(text: str) -> str:
    """Return a text of a file as an error quotes it."""
    return repr(text if len(text) <= _SHOWN_CHARS else f"{text[:_SHOWN_CHARS]}...")


def _check_node(yaml: Any, event: Any, line: int) -> None:
    if isinstance(event, yaml.AliasEvent):  # a few lines of them can stand for gigabytes
        raise YamlRefused(line, f"aliases (*{event.anchor[:_SHOWN_CHARS]}) are not supported")
    if event.anchor is not None:
        raise YamlRefused(line, f"anchors (&{event.anchor[:_SHOWN_CHARS]}) are not supported")
    if event.tag is not None:
        raise YamlRefused(line, f"tags ({event.tag[:_SHOWN_CHARS]}) are not supported")


def _checked(yaml: Any, events: Iterator[Any]) -> Iterator[Any]:
    """Yield the events of nodes. Raises: YamlRefused: one of them is not taken."""
    depth = nodes = documents = 0
    for event in events:
        line = event.start_mark.line + 1
        if isinstance(event, yaml.DocumentStartEvent):
            documents += 1
            if documents > 1:
                raise YamlRefused(line, "a second document begins; only one is supported")
        if not isinstance(event, yaml.NodeEvent | yaml.CollectionEndEvent):
            continue
        if isinstance(event, yaml.NodeEvent):
            _check_node(yaml, event, line)
            nodes += 1
            if nodes > MOST_NODES:
                raise YamlRefused(line, f"more than {MOST_NODES} values")
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > DEEPEST:
            raise YamlRefused(line, "nested too deeply")
        yield event


class _Reader:
    """Makes nodes of checked events."""

    def __init__(self, events: Iterator[Any]) -> None:
        self._events = events

    def document(self) -> Node:
        event = next(self._events, None)
        root = Scalar("", 1, is_plain=True) if event is None else self._node(event)
        for _ in self._events:  # to its end, which may be malformed
            pass
        return root

    def _node(self, event: Any) -> Node:
        line = event.start_mark.line + 1
        if hasattr(event, "value"):
            return Scalar(event.value, line, is_plain=event.implicit[0])
        return self._fields(line) if type(event).__name__ == "MappingStartEvent" else self._items(line)

    def _items(self, line: int) -> Items:
        made = Items(line)
        for event in self._events:
            if type(event).__name__ == "SequenceEndEvent":
                break
            made.items.append(self._node(event))
        return made

    def _fields(self, line: int) -> Fields:
        made = Fields(line)
        for event in self._events:
            if type(event).__name__ == "MappingEndEvent":
                break
            key = self._node(event)
            if not isinstance(key, Scalar):
                raise YamlRefused(key.line, "a key is a list or mapping")
            if key.text in made.fields:
                raise YamlRefused(key.line, f"{shown(key.text)} appears twice, first in line {made.lines[key.text]}")
            made.lines[key.text] = key.line
            made.fields[key.text] = self._node(next(self._events))
        return made
