"""Generator of the Python source that encodes one version of a message, with the same results as walker.py.

tests/fuzz/protocol compares the two. Values that do not fit raise errors of struct, str.encode, or len, which codec.py
catches. Byte fields are not copied.
"""

from collections.abc import Callable
from typing import Any

from kctl.client.protocol.pieces import Pieces
from kctl.client.protocol.primitives import FIXED_FORMATS, MAX_STRING_BYTES, SMALL_UVARINTS, tag_section, uvarint
from kctl.client.protocol.schema import Field, Message, Struct
from kctl.client.protocol.source import Repeated, Source


def compile_encoder(cls: type[Message], version: int) -> Callable[[Any, list[bytes]], None]:
    source = _Encoder(version, version >= cls.FLEXIBLE_FROM)
    source.line("w = parts.append")
    source.struct(cls, "message")
    source.flush()
    name = f"{cls.__name__}_v{version}"
    return source.compile(f"encode_{name}", "message, parts", f"<kctl encode {name}>")


class _Encoder(Source):
    """Generator of an encoder's source, in which `w` appends to the parts; tagged fields have a separate list."""

    def __init__(self, version: int, flexible: bool) -> None:
        super().__init__(version, flexible)
        self.names |= {"UVARINTS": SMALL_UVARINTS, "uvarint": uvarint, "tag_section": tag_section}
        self.names |= {"add_unknown": _add_unknown, "Pieces": Pieces}
        self.writer = "w"

    def flush(self) -> None:
        if self.run:
            self.line(self._packed(self.run))
            self.run = []

    def _packed(self, run: list[tuple[str, str]]) -> str:
        values, letters = zip(*run, strict=True)
        if letters == ("B",) and values == ("0",):
            return f'{self.writer}(b"\\0")'
        stem, packer = self.packer("".join(letters))
        self.names[f"pack_{stem}"] = packer.pack
        return f"{self.writer}(pack_{stem}({', '.join(values)}))"

    def struct(self, cls: type[Struct], var: str) -> None:
        body, tagged, absent = self.split(cls)
        for entry in absent:
            if not entry.ignorable:
                self.fail_if(
                    self.is_set(entry, f"{var}.{entry.name}"), f"this version does not have the field {entry.name}"
                )
        for entry in body:
            self.field(entry, f"{var}.{entry.name}")
        if self.flexible:
            self.tags(tagged, var)
        else:
            self.fail_if(f"{var}.unknown_tagged_fields", "this version of the API does not support tagged fields")

    def field(self, entry: Field, value: str) -> None:
        nullable = entry.is_nullable_in(self.version)
        if entry.is_array:
            self.array(entry, value, nullable)
        elif isinstance(entry.kind, type) and nullable:
            with self.block(f"if {value} is None:"):
                self.run.append(("-1", "b"))
            with self.block("else:"):
                self.run.append(("1", "b"))
                self.value(entry, value, nullable=False)
        else:
            self.value(entry, value, nullable)

    def value(self, entry: Field, value: str, nullable: bool) -> None:
        if isinstance(entry.kind, type):
            var = value if value.isidentifier() else self.fresh("o")
            if var != value:
                self.line(f"{var} = {value}")
            self.fail_if(f"type({var}) is not {self.name_of(entry.kind, entry.kind.__name__)}", "struct")
            self.struct(entry.kind, var)
        elif entry.kind == "uuid":
            self.fail_if(f"len({value}) != 16", "uuid")
            self.run.append((value, "16s"))
        elif entry.kind in FIXED_FORMATS:
            self.run.append((value, FIXED_FORMATS[entry.kind]))
        else:
            self.text_or_bytes(entry, value, nullable)

    def text_or_bytes(self, entry: Field, value: str, nullable: bool) -> None:
        is_text = entry.kind == "string"
        compact = self.flexible and entry.flexible
        raw, size = self.fresh("raw"), self.fresh("n")
        self.line(f"{raw} = {value}")
        if nullable:
            self.line(f'if {raw} is None: {raw} = b""; {size} = -1')
            head = "else: "
        else:
            head = ""
        if is_text:
            self.line(f"{head}{raw} = {raw}.encode(); {size} = len({raw})")
            self.fail_if(f"{size} > {MAX_STRING_BYTES}", "string too long")
        elif entry.kind == "records":
            self.line(f"{head}{size} = len({raw})")
            self.fail_if(f"not isinstance({raw}, (bytes, Pieces))", "bytes")
        else:
            self.line(f"{head}{size} = len({raw})")
            self.fail_if(f"not isinstance({raw}, bytes)", "bytes")
        self.length(size, compact, "h" if is_text else "i")
        if entry.kind == "records":
            self.line(f"if isinstance({raw}, Pieces): {self.writer}({raw}.head); {raw} = {raw}.body")
        self.line(f"{self.writer}({raw})")

    def length(self, size: str, compact: bool, letter: str) -> None:
        """Write a length or count; -1 represents null."""
        if compact:
            self.flush()
            self.line(f"{self.writer}(UVARINTS[{size} + 1] if {size} < 127 else uvarint({size} + 1))")
        else:
            self.run.append((size, letter))
            self.flush()

    def array(self, entry: Field, value: str, nullable: bool) -> None:
        items, count = self.fresh("items"), self.fresh("n")
        self.line(f"{items} = {value}")
        if nullable:
            self.line(f"if {items} is None: {items} = (); {count} = -1")
            self.line(f"else: {count} = len({items})")
        else:
            self.line(f"{count} = len({items})")
        self.length(count, self.flexible, "i")
        if isinstance(entry.kind, str) and entry.kind in FIXED_FORMATS and entry.kind != "uuid":
            name = f"pack_{entry.kind}s"
            self.names[name] = Repeated(FIXED_FORMATS[entry.kind], "pack")
            self.line(f"{self.writer}({name}[len({items})](*{items}))")
            return
        item = self.fresh("o")
        with self.block(f"for {item} in {items}:"):
            self.value(entry, item, nullable=False)

    def tags(self, tagged: dict[int, Field], var: str) -> None:
        if not tagged:
            self._end(f"{var}.unknown_tagged_fields")
            return
        self.flush()  # keep values before the section out of its tagged fields
        section, outer = self.fresh("tags"), self.writer
        self.line(f"{section} = {{}}")
        for number, entry in tagged.items():
            value = f"{var}.{entry.name}"
            with self.block(f"if {self.is_set(entry, value)}:"):
                parts = self.fresh("parts")
                self.writer = f"{parts}.append"
                self.line(f"{parts} = []")
                self.field(entry, value)
                self.flush()
                self.line(f'{section}[{number}] = b"".join({parts})')
                self.writer = outer
        with self.block(f"if {var}.unknown_tagged_fields:"):
            self.line(f"add_unknown({section}, {var}.unknown_tagged_fields, {tuple(tagged)})")
        self._end(section)

    def _end(self, section: str) -> None:
        """Write the tag section. An empty section is packed with the fixed-width values before it."""
        run, self.run = self.run, []
        with self.block(f"if {section}:"):
            self.run = run
            self.flush()
            self.line(f"{self.writer}(tag_section({section}))")
        with self.block("else:"):
            self.run = [*run, ("0", "B")]


def _add_unknown(section: dict[int, bytes], unknown: dict[int, bytes], declared: tuple[int, ...]) -> None:
    for tag in declared:
        if tag in unknown:
            raise ValueError(f"tag {tag} in unknown_tagged_fields belongs to a declared field")
    section.update(unknown)
