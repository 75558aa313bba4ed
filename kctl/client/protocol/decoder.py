"""Generator of the Python source that decodes one version of a message, with the same results as walker.py.

tests/fuzz/protocol compares the two. Each length is compared with the bytes left before its use. Other reads past the
end raise struct.error or IndexError, which codec.py catches. A compact length is read as one byte, or as a varint if
its high bit is set.
"""

from collections.abc import Callable
from itertools import groupby
from typing import Any

from kctl.client.protocol.frame_slice import FrameSlice
from kctl.client.protocol.primitives import (
    FIXED_FORMATS,
    FIXED_SIZES,
    MAX_STRING_BYTES,
    MAX_TAG,
    MOST_STRUCTS,
    Malformed,
    read_uvarint,
)
from kctl.client.protocol.schema import Field, Message, Struct
from kctl.client.protocol.source import Repeated, Source
from kctl.client.protocol.walker import min_bytes


def compile_decoder(
    cls: type[Message], version: int, view: bool, in_place: bool = False
) -> Callable[[Any, int], tuple[Any, int]]:
    """Return a function (buffer, position) -> (message, position after it).

    Args:
        view: whether the buffer is a memoryview.
        in_place: whether records become FrameSlices of the buffer.
    """
    source = _Decoder(version, version >= cls.FLEXIBLE_FROM, view, in_place)
    source.line("size = len(buf)")
    source.line(f"left = {MOST_STRUCTS}")
    source.struct(cls, "message")
    source.flush()
    source.line("return message, p")
    name = f"{cls.__name__}_v{version}"
    kind = "view" if view else "frame" if in_place else "bytes"
    return source.compile(f"decode_{name}", "buf, p", f"<kctl decode {name} {kind}>")


class _Decoder(Source):
    """Generator of a decoder's source.

    The source has the variables `buf` (buffer), `p` (position), `size` (end), and `left` (structs that may follow).
    """

    def __init__(self, version: int, flexible: bool, view: bool, in_place: bool) -> None:
        super().__init__(version, flexible)
        self.names |= {"new": object.__new__, "read_uvarint": read_uvarint}
        self.names |= {"read_tag": _read_tag, "read_unknown_tags": _read_unknown_tags}
        self.text = 'str(buf[p:{end}], "utf-8")' if view else "buf[p:{end}].decode()"
        self.lenient_text = 'str(buf[p:{end}], "utf-8", "replace")'
        self.raw = "bytes(buf[p:{end}])" if view else "buf[p:{end}]"
        self.records = self.raw
        if in_place and not view:
            self.names["FrameSlice"] = FrameSlice
            self.records = "FrameSlice(buf, p, {end})"

    def flush(self) -> None:
        if not self.run:
            return
        targets, letters = zip(*self.run, strict=True)
        self.run = []
        if letters == ("B",):
            self.line(f"{targets[0]} = buf[p]")
            self.line("p += 1")
            return
        stem, packer = self.packer("".join(letters))
        self.names[f"unpack_{stem}"] = packer.unpack_from
        self.line(f"{', '.join(targets)}{',' if len(targets) == 1 else ''} = unpack_{stem}(buf, p)")
        self.line(f"p += {packer.size}")

    def struct(self, cls: type[Struct], var: str) -> None:
        body, tagged, absent = self.split(cls)
        self.line(f"{var} = new({self.name_of(cls, cls.__name__)})")
        if not self.flexible:
            self.line(f"{var}.unknown_tagged_fields = {{}}")
        for entry in (*absent, *tagged.values()):
            self.default(entry, f"{var}.{entry.name}")
        for entry in body:
            self.field(entry, f"{var}.{entry.name}")
        if self.flexible:
            self.tags(tagged, var)

    def default(self, entry: Field, target: str) -> None:
        """Set the default of an absent field. Code for nested structs is inlined, which is faster than a call."""
        if entry.factory is None:
            self.line(f"{target} = {entry.default!r}")
        elif entry.is_array:
            self.line(f"{target} = []")
        else:
            cls, var = self.struct_of(entry), self.fresh("o")
            self.line(f"{target} = {var} = new({self.name_of(cls, cls.__name__)})")
            self.line(f"{var}.unknown_tagged_fields = {{}}")
            for inner in cls.FIELDS:
                self.default(inner, f"{var}.{inner.name}")

    def field(self, entry: Field, target: str) -> None:
        nullable = entry.is_nullable_in(self.version)
        if entry.is_array:
            self.array(entry, target, nullable)
        elif isinstance(entry.kind, type) and nullable:
            self.nullable_struct(entry.kind, target)
        else:
            self.value(entry, target, nullable)

    def value(self, entry: Field, target: str, nullable: bool) -> None:
        if isinstance(entry.kind, type):
            var = self.fresh("o")
            self.struct(entry.kind, var)
            self.line(f"{target} = {var}")
        elif entry.kind in FIXED_FORMATS:
            self.run.append((target, FIXED_FORMATS[entry.kind]))
        else:
            self.text_or_bytes(entry, target, nullable)

    def nullable_struct(self, cls: type[Struct], target: str) -> None:
        marker = self.fresh("n")
        self.run.append((marker, "b"))
        with self.block(f"if {marker} == -1:"):
            self.line(f"{target} = None")
        with self.block("else:"):
            self.fail_if(f"{marker} != 1", "marker of a nullable struct")
            var = self.fresh("o")
            self.struct(cls, var)
            self.line(f"{target} = {var}")

    def text_or_bytes(self, entry: Field, target: str, nullable: bool) -> None:
        is_text = entry.kind == "string"
        read = self.records if entry.kind == "records" else self.raw
        if is_text:
            read = self.lenient_text if entry.informs else self.text
        compact = self.flexible and entry.flexible
        count = self.length(compact, "h" if is_text else "i", MAX_STRING_BYTES if is_text else None)
        end = self.fresh("e")
        if not nullable:
            self._slice(target, end, count, compact, read)
            return
        with self.block(f"if {count} == {0 if compact else -1}:"):
            self.line(f"{target} = None")
        with self.block("else:"):
            self._slice(target, end, count, compact, read)

    def _slice(self, target: str, end: str, count: str, compact: bool, read: str) -> None:
        self.line(f"{end} = p + {count}{' - 1' if compact else ''}")
        self.fail_if(f"not p <= {end} <= size", "length")
        self.line(f"{target} = {read.format(end=end)}")
        self.line(f"p = {end}")

    def length(self, compact: bool, letter: str, most: int | None = None) -> str:
        """Read a length or count; return the variable that has it. A compact value is 1 too large."""
        name = self.fresh("n")
        self.run.append((name, "B" if compact else letter))
        self.flush()
        if compact:
            with self.block(f"if {name} > 127:"):
                self.line(f"{name}, p = read_uvarint(buf, p - 1)")
                if most is not None:
                    self.fail_if(f"{name} > {most + 1}", "string too long")
        return name

    def array(self, entry: Field, target: str, nullable: bool) -> None:
        count = self.length(self.flexible, "i")
        if not nullable:
            self._items(entry, target, count)
            return
        with self.block(f"if {count} == {0 if self.flexible else -1}:"):
            self.line(f"{target} = None")
        with self.block("else:"):
            self._items(entry, target, count)

    def _items(self, entry: Field, target: str, count: str) -> None:
        if self.flexible:
            self.line(f"{count} -= 1")
        least = min_bytes(entry.kind, self.version, self.flexible)
        self.fail_if(f"{count} < 0 or {count} * {least} > size - p", "array count")
        if isinstance(entry.kind, str) and entry.kind in FIXED_FORMATS and entry.kind != "uuid":
            name = f"unpack_{entry.kind}s"
            self.names[name] = Repeated(FIXED_FORMATS[entry.kind], "unpack_from")
            self.line(f"{target} = list({name}[{count}](buf, p))")
            self.line(f"p += {count} * {FIXED_SIZES[entry.kind]}")
            return
        if isinstance(entry.kind, type):
            self.line(f"left -= {count}")
            self.fail_if("left < 0", "structs")
            if entry.skipped:
                self.line(f"{target} = []")
                with self.block(f"for _ in range({count}):"):
                    self._skip_struct(entry.kind)
                self.fail_if("p > size", "length")
                return
        items, add, item = self.fresh("items"), self.fresh("add"), self.fresh("o")
        self.line(f"{target} = {items} = []")
        self.line(f"{add} = {items}.append")
        with self.block(f"for _ in range({count}):"):
            if isinstance(entry.kind, type):
                self.struct(entry.kind, item)
            else:
                self.value(entry, item, nullable=False)
            self.flush()
            self.line(f"{add}({item})")

    def _skip_struct(self, cls: type[Struct]) -> None:
        body, _, _ = self.split(cls)
        for is_fixed, fields in groupby(body, key=lambda entry: not entry.is_array and entry.kind in FIXED_SIZES):
            if is_fixed:
                self.line(f"p += {sum(FIXED_SIZES[str(entry.kind)] for entry in fields)}")
                continue
            for entry in fields:
                if entry.is_array and entry.kind in FIXED_SIZES and not entry.is_nullable_in(self.version):
                    count = self.length(self.flexible, "i")
                    first = 1 if self.flexible else 0
                    self.fail_if(f"{count} < {first}", "array count")
                    self.line(f"p += ({count} - {first}) * {FIXED_SIZES[str(entry.kind)]}")
                else:
                    self.field(entry, "_skipped")
                    self.flush()
        if self.flexible:
            with self.block("if buf[p]:"):
                self.line("p = read_unknown_tags(buf, p, size, {})")
            with self.block("else:"):
                self.line("p += 1")

    def tags(self, tagged: dict[int, Field], var: str) -> None:
        count, unknown = self.fresh("n"), self.fresh("unknown")
        self.line(f"{var}.unknown_tagged_fields = {unknown} = {{}}")
        self.run.append((count, "B"))
        with self.block(f"if {count}:"):
            if tagged:
                self._tag_loop(tagged, var, count, unknown)
            else:
                self.line(f"p = read_unknown_tags(buf, p - 1, size, {unknown})")

    def _tag_loop(self, tagged: dict[int, Field], var: str, count: str, unknown: str) -> None:
        tag, last, end = self.fresh("tag"), self.fresh("last"), self.fresh("e")
        self.line(f"{count}, p = read_uvarint(buf, p - 1)")
        self.line(f"{last} = -1")
        with self.block(f"for _ in range({count}):"):
            self.line(f"{tag}, {end}, p = read_tag(buf, p, size, {last})")
            self.line(f"{last} = {tag}")
            for number, entry in tagged.items():
                with self.block(f"if {tag} == {number}:"):
                    self.field(entry, f"{var}.{entry.name}")
                    self.flush()
                    self.fail_if(f"p != {end}", "size of a tagged field")
                    self.line("continue")
            self.line(f"{unknown}[{tag}] = bytes(buf[p:{end}])")
            self.line(f"p = {end}")


def _read_tag(buf: bytes | memoryview, pos: int, size: int, last: int) -> tuple[int, int, int]:
    tag, pos = read_uvarint(buf, pos)
    length, pos = read_uvarint(buf, pos)
    if not last < tag <= MAX_TAG or pos + length > size:
        raise Malformed("tag")
    return tag, pos + length, pos


def _read_unknown_tags(buf: bytes | memoryview, pos: int, size: int, into: dict[int, bytes]) -> int:
    count, pos = read_uvarint(buf, pos)
    last = -1
    for _ in range(count):
        last, end, pos = _read_tag(buf, pos, size, last)
        into[last] = bytes(buf[pos:end])
        pos = end
    return pos
