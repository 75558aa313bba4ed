"""Reference codec, which processes a declaration field by field and defines its meaning. Short and slow on purpose."""

from typing import Any, TypeVar

from kctl.client.errors import LocalProtocolError, RemoteProtocolError
from kctl.client.protocol.pieces import Pieces
from kctl.client.protocol.primitives import FIXED_SIZES, MAX_TAG, MOST_STRUCTS, Malformed, Reader, Writer
from kctl.client.protocol.schema import Field, Message, Response, Struct

M = TypeVar("M", bound=Message)


def decode(cls: type[M], data: bytes | memoryview, version: int, offset: int = 0) -> M:
    """Decode the message in `data` from `offset` to the end. Raises: as `codec.decode`."""
    message, pos = decode_header(cls, data, version, offset)
    if pos != len(data):
        raise _remote_error(
            cls, version, "", Malformed(f"the message has {len(data) - pos} extra bytes at the end", pos)
        )
    return message


def decode_header(cls: type[M], data: bytes | memoryview, version: int, offset: int = 0) -> tuple[M, int]:
    """Decode the message at `offset`; return it and the position after it. Raises: as `decode`."""
    check_version(cls, version)
    walk = _Decode(Reader(data, offset), version, version >= cls.FLEXIBLE_FROM)
    try:
        message: M = walk.struct(cls)
    except Malformed as error:
        raise _remote_error(cls, version, _path(walk.path), error) from None
    return message, walk.reader.pos


def encode(message: Message, version: int) -> bytes:
    """Encode `message`. Raises: as `encode_parts`."""
    return b"".join(encode_parts(message, version))


def encode_parts(message: Message, version: int) -> list[bytes]:
    """Encode `message` in pieces; records are not copied.

    Raises: LocalProtocolError: a value does not fit its type or the version; has the field.
    """
    check_version(type(message), version)
    walk = _Encode(Writer(), version, version >= message.FLEXIBLE_FROM)
    try:
        walk.struct(message)
    except Malformed as error:
        path = _path(walk.path)
        name = f"{type(message).__name__} v{version}"
        raise LocalProtocolError(f"{name}: {path + ': ' if path else ''}{error}") from None
    return walk.writer.parts


def check_version(cls: type[Message], version: int) -> None:
    low, high = cls.VALID_VERSIONS
    if not low <= version <= high:
        raise LocalProtocolError(f"{cls.__name__} version {version} does not exist: use {low} to {high}")


def min_bytes(kind: str | type[Struct], version: int, flexible: bool) -> int:
    """Return the least size of an array item, which bounds the number of items."""
    if not isinstance(kind, type):
        return FIXED_SIZES.get(kind) or (1 if flexible else 2 if kind == "string" else 4)
    total = 1 if flexible else 0
    for entry in kind.FIELDS:
        if not entry.is_in(version) or entry.is_tagged_in(version):
            continue
        if entry.is_array:
            total += 1 if flexible else 4
        elif isinstance(entry.kind, type) and entry.is_nullable_in(version):
            total += 1
        else:
            total += min_bytes(entry.kind, version, flexible and entry.flexible)
    return max(total, 1)


class _Decode:
    """A walk over bytes; `path`: the field that failed, after a failure."""

    def __init__(self, reader: Reader, version: int, flexible: bool) -> None:
        self.reader = reader
        self.version = version
        self.flexible = flexible
        self.path: list[str | int] = []
        self.structs_left = MOST_STRUCTS

    def struct(self, cls: type[Any]) -> Any:
        result = cls()
        tagged: dict[int, Field] = {}
        for entry in cls.FIELDS:
            if entry.is_tagged_in(self.version):
                tagged[entry.tag] = entry
            elif entry.is_in(self.version):
                self.field(result, entry)
        if self.flexible:
            self.tags(result, tagged)
        return result

    def field(self, result: Any, entry: Field) -> None:
        self.path.append(entry.name)
        value = self.array(entry) if entry.is_array else self.value(entry, entry.is_nullable_in(self.version))
        setattr(result, entry.name, value)
        self.path.pop()

    def array(self, entry: Field) -> list[Any] | None:
        least = min_bytes(entry.kind, self.version, self.flexible)
        start = self.reader.pos
        count = self.reader.count(self.flexible, entry.is_nullable_in(self.version), least)
        if count is None:
            return None
        if isinstance(entry.kind, type):
            self.structs_left -= count
        if self.structs_left < 0:
            raise Malformed(
                f"with an array of {count} structs, the message exceeds the limit of {MOST_STRUCTS} structs", start
            )
        items = []
        for index in range(count):
            self.path.append(index)
            items.append(self.value(entry, False))
            self.path.pop()
        return [] if entry.skipped else items

    def value(self, entry: Field, nullable: bool) -> Any:
        compact = self.flexible and entry.flexible
        if isinstance(entry.kind, type):
            return self.nullable_struct(entry.kind) if nullable else self.struct(entry.kind)
        if entry.kind == "string":
            return self.reader.string(compact, nullable, "replace" if entry.informs else "strict")
        if entry.kind in ("bytes", "records"):
            return self.reader.byte_string(compact, nullable)
        return self.reader.fixed(entry.kind)

    def nullable_struct(self, cls: type[Struct]) -> Any:
        start = self.reader.pos
        marker = self.reader.fixed("int8")
        if marker == -1:
            return None
        if marker != 1:
            raise Malformed(f"the marker of a nullable struct must be 1 or -1, not {marker}", start)
        return self.struct(cls)

    def tags(self, result: Any, tagged: dict[int, Field]) -> None:
        outer = self.reader
        last = -1
        for _ in range(outer.uvarint()):
            start = outer.pos
            tag = outer.uvarint()
            if tag <= last:
                raise Malformed(f"tags must be in ascending order, but tag {tag} follows tag {last}", start)
            if tag > MAX_TAG:
                raise Malformed(f"tag {tag} exceeds the limit of {MAX_TAG}", start)
            last = tag
            size = outer.uvarint()
            if size > outer.left:
                raise Malformed(f"tagged field {tag} has {size} bytes, but only {outer.left} bytes are left", start)
            if tag not in tagged:
                result.unknown_tagged_fields[tag] = outer.read(size, "tagged field")
                continue
            self.reader = Reader(outer.buf, outer.pos, outer.pos + size)
            self.field(result, tagged[tag])
            if self.reader.left:
                text = f"tagged field {tag} has {self.reader.left} unexpected bytes at the end"
                raise Malformed(text, self.reader.pos)
            outer.pos = self.reader.pos
            self.reader = outer


class _Encode:
    """A walk over a message; `path`: the field that failed, after a failure."""

    def __init__(self, writer: Writer, version: int, flexible: bool) -> None:
        self.writer = writer
        self.version = version
        self.flexible = flexible
        self.path: list[str | int] = []

    def struct(self, value: Any) -> None:
        tagged: dict[int, Field] = {}
        for entry in value.FIELDS:
            if entry.is_tagged_in(self.version):
                tagged[entry.tag] = entry
            elif entry.is_in(self.version):
                self.field(entry, getattr(value, entry.name))
            elif not entry.ignorable and getattr(value, entry.name) != entry.default_value():
                self.path.append(entry.name)
                raise Malformed(
                    "the field does not exist in this version of the API, so it must have its default value"
                )
        if self.flexible:
            self.tags(value, tagged)
        elif value.unknown_tagged_fields:
            raise Malformed("this version of the API does not support tagged fields")

    def field(self, entry: Field, value: Any) -> None:
        self.path.append(entry.name)
        if value is None and not entry.is_nullable_in(self.version):
            raise Malformed("the value must not be None in this version of the API")
        if entry.is_array:
            self.array(entry, value)
        elif isinstance(entry.kind, type) and entry.is_nullable_in(self.version):
            self.writer.fixed("int8", -1 if value is None else 1)
            if value is not None:
                self.value(entry, value)
        else:
            self.value(entry, value)
        self.path.pop()

    def array(self, entry: Field, items: Any) -> None:
        self.writer.length("uvarint" if self.flexible else "int32", None if items is None else len(items))
        for index, item in enumerate(items or ()):
            self.path.append(index)
            if item is None:
                raise Malformed("the value must not be None in this version of the API")
            self.value(entry, item)
            self.path.pop()

    def value(self, entry: Field, value: Any) -> None:
        compact = self.flexible and entry.flexible
        if isinstance(entry.kind, type):
            if type(value) is not entry.kind:
                raise Malformed(f"expected {entry.kind.__name__}, not {type(value).__name__}")
            self.struct(value)
        elif entry.kind == "string":
            self.writer.string(value, compact)
        elif entry.kind in ("bytes", "records"):
            if entry.kind == "records" and isinstance(value, Pieces):
                self.writer.pieces((value.head, value.body), compact)
            else:
                self.writer.byte_string(value, compact)
        else:
            self.writer.fixed(entry.kind, value)

    def tags(self, value: Any, tagged: dict[int, Field]) -> None:
        raw: dict[int, bytes] = {}
        outer = self.writer
        for tag, entry in tagged.items():
            item = getattr(value, entry.name)
            if item == entry.default_value():
                continue
            self.writer = Writer()
            self.field(entry, item)
            raw[tag] = b"".join(self.writer.parts)
        self.writer = outer
        for tag, unknown in value.unknown_tagged_fields.items():
            if tag in tagged:
                raise Malformed(f"tag {tag} in unknown_tagged_fields belongs to a declared field")
            raw[tag] = unknown
        self.writer.tags(raw)


def _remote_error(cls: type[Message], version: int, path: str, error: Malformed) -> RemoteProtocolError:
    where = f"{path}: " if path else ""
    name = f"{cls.NAME}Response" if issubclass(cls, Response) else cls.__name__
    return RemoteProtocolError(
        f"{name} v{version}: {where}{error} (byte {error.offset})",
        api=cls.NAME,
        version=version,
        field=path or None,
        offset=error.offset,
    )


def _path(parts: list[str | int]) -> str:
    """Return a path like `topics[3].partitions[0].leader_id`."""
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in parts).lstrip(".")
