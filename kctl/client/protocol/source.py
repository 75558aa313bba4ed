"""Common part of the source generators: indented lines, fresh names, and runs of adjacent fixed-width values.

A run is a list of (expression, struct letter), which one `struct.Struct` packs or unpacks in one call. A value of
variable width ends the run, and `flush` writes the call.
"""

import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from kctl.client.protocol.primitives import Malformed
from kctl.client.protocol.schema import Field, Struct


class Repeated(dict[int, Callable[..., Any]]):
    """Functions that pack or unpack `count` values of one type, created on first use."""

    KEPT = 64

    def __init__(self, letter: str, call: str) -> None:
        super().__init__()
        self.letter = letter
        self.call = call

    def __missing__(self, count: int) -> Callable[..., Any]:
        call: Callable[..., Any] = getattr(struct.Struct(f">{count}{self.letter}"), self.call)
        if count <= self.KEPT:
            self[count] = call
        return call


class Source:
    def __init__(self, version: int, flexible: bool) -> None:
        self.version = version
        self.flexible = flexible
        self.names: dict[str, Any] = {"Malformed": Malformed}
        self.lines: list[str] = []
        self.run: list[tuple[str, str]] = []
        self._indent = "    "
        self._count = 0

    def line(self, text: str) -> None:
        """Add a line, which must not read or write message bytes, because an open run stays open."""
        self.lines.append(f"{self._indent}{text}\n")

    @contextmanager
    def block(self, head: str) -> Iterator[None]:
        """Indent the lines in the context below `head`; flush the run at both ends."""
        self.flush()
        self.line(head)
        self._indent += "    "
        yield
        self.flush()
        self._indent = self._indent[:-4]

    def flush(self) -> None:
        raise NotImplementedError  # subclasses pack or unpack

    def fail_if(self, condition: str, reason: str) -> None:
        """Add a line that fails if `condition` holds; the walker then reports place and reason."""
        self.line(f"if {condition}: raise Malformed({reason!r})")

    def fresh(self, stem: str) -> str:
        self._count += 1
        return f"{stem}{self._count}"

    def name_of(self, value: Any, stem: str) -> str:
        for name, known in self.names.items():
            if known is value:
                return name
        name = stem if stem not in self.names else f"{stem}_{len(self.names)}"
        self.names[name] = value
        return name

    def is_set(self, entry: Field, value: str) -> str:
        """Return an expression that is true if `value` is not the default of `entry`."""
        if entry.factory is None:
            return f"{value} is not None" if entry.default is None else f"{value} != {entry.default!r}"
        if entry.is_array:
            return f"{value} != []"
        inner = [self.is_set(part, f"{value}.{part.name}") for part in self.struct_of(entry).FIELDS]
        return f"({' or '.join([*inner, f'{value}.unknown_tagged_fields'])})"

    @staticmethod
    def struct_of(entry: Field) -> type[Struct]:
        assert isinstance(entry.kind, type)
        return entry.kind

    def packer(self, letters: str) -> tuple[str, struct.Struct]:
        return letters.replace("?", "_bool_"), struct.Struct(">" + letters)

    def split(self, cls: type[Struct]) -> tuple[list[Field], dict[int, Field], list[Field]]:
        """Return the fields in the body, the tagged fields by tag, and the fields that this version does not have."""
        body, tagged, absent = [], {}, []
        for entry in cls.FIELDS:
            if entry.is_tagged_in(self.version):
                tagged[entry.tag] = entry
            elif entry.is_in(self.version):
                body.append(entry)
            else:
                absent.append(entry)
        return body, dict(sorted(tagged.items())), absent

    def compile(self, name: str, arguments: str, filename: str) -> Callable[..., Any]:
        """Return the compiled function; its source is in `linecache`, for tracebacks."""
        import linecache

        source = f"def {name}({arguments}):\n{''.join(self.lines)}"
        exec(compile(source, filename, "exec"), self.names)  # noqa: S102 - made of declared names only
        linecache.cache[filename] = (len(source), None, source.splitlines(keepends=True), filename)
        function: Callable[..., Any] = self.names[name]
        return function
