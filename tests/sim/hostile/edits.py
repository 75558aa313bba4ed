"""Edits of responses: an array that fills a megabyte, other values, other bytes, responses to other requests."""

import copy
from collections.abc import Iterator
from random import Random
from typing import Any

from kctl.client.errors import LocalProtocolError
from kctl.client.protocol.framing import encode_response, response_header_version
from kctl.client.protocol.primitives import Malformed, Writer, uvarint
from kctl.client.protocol.schema import Field, Response, Struct
from kctl.client.protocol.walker import _Encode
from tests.fuzz.protocol.messages import mutate

STUFFED_BYTES = 1_000_000
Path = tuple[str, ...]


def array_paths(cls: type[Struct], version: int) -> Iterator[Path]:
    """Yield the paths of all arrays of a response that a version has."""
    for entry in cls.FIELDS:
        if not entry.is_in(version):
            continue
        if entry.is_array:
            yield (entry.name,)
        if isinstance(entry.kind, type):
            yield from ((entry.name, *rest) for rest in array_paths(entry.kind, version))


class Stuffing:
    """An edit: the responses of one class have an array that fills a megabyte."""

    def __init__(self, cls: type[Response], path: Path, *, are_same: bool) -> None:
        self._cls = cls
        self._path = path
        self._are_same = are_same
        self._bodies: dict[int, bytes] = {}
        """By version; made once, because clients ask again."""

    def __call__(self, response: Response, version: int, correlation_id: int) -> bytes | None:
        if type(response) is not self._cls:
            return None
        if version not in self._bodies:
            self._bodies[version] = stuffed(response, version, self._path, are_same=self._are_same)
        body = self._bodies[version]
        return (len(body) + 4).to_bytes(4, "big") + correlation_id.to_bytes(4, "big") + body


def stuffed(response: Response, version: int, path: Path, *, are_same: bool) -> bytes:
    """Return the bytes behind the correlation id of a response of which one array fills a megabyte.

    Args: are_same: its items are the same; otherwise each has a name or number of its own.
    """
    whole = copy.deepcopy(response)
    entry = _make_place(whole, path)
    flexible = version >= type(response).FLEXIBLE_FROM
    walk = _Stuffing(version, flexible, entry, are_same=are_same)
    try:
        walk.struct(whole)
    except Malformed:
        return encode_response(response, version, 0)[8:]
    return (b"\0" if response_header_version(type(response), version) else b"") + b"".join(walk.writer.parts)


def _make_place(struct: Any, path: Path) -> Field:
    """Return the field at a path; arrays before it get an item if they have none."""
    entry = next(each for each in type(struct).FIELDS if each.name == path[0])
    value = getattr(struct, entry.name)
    if entry.is_array:
        if not value:
            value = [entry.kind() if isinstance(entry.kind, type) else _plain_item(entry, 0)]
        setattr(struct, entry.name, value[:1])
        value = value[0]
    elif value is None and isinstance(entry.kind, type):
        value = entry.kind()
        setattr(struct, entry.name, value)
    return entry if len(path) == 1 else _make_place(value, path[1:])


def _plain_item(entry: Field, number: int) -> Any:
    if entry.kind == "string":
        return f"{number:x}"
    return bytes(16) if entry.kind == "uuid" else b"" if entry.kind in ("bytes", "records") else number % 100


class _Stuffing(_Encode):
    """Encodes a message with many items in one of its arrays."""

    def __init__(self, version: int, flexible: bool, entry: Field, *, are_same: bool) -> None:
        super().__init__(Writer(), version, flexible)
        self._entry = entry
        self._are_same = are_same
        self._is_done = False

    def array(self, entry: Field, items: Any) -> None:
        if entry is not self._entry or self._is_done or not items:  # a struct may have its class in two places
            super().array(entry, items)
            return
        self._is_done = True
        outer, self.writer = self.writer, Writer()
        parts, size, count = self.writer.parts, 0, 0
        first = items[0]
        block = b""
        while size < STUFFED_BYTES:
            if not (self._are_same and block):
                at = len(parts)
                self.value(entry, first if self._are_same else _numbered(entry, first, count))
                block = b"".join(parts[at:])
                del parts[at:]
            parts.append(block)
            size += max(1, len(block))
            count += 1
        self.writer = outer
        self.writer.parts.append(uvarint(count + 1) if self.flexible else count.to_bytes(4, "big"))
        self.writer.parts += parts


def _numbered(entry: Field, item: Any, number: int) -> Any:
    """Return the item with a name and a number of its own."""
    if not isinstance(item, Struct):
        return _plain_item(entry, number)
    for inner in type(item).FIELDS:
        if inner.is_array or isinstance(inner.kind, type):
            if inner.is_array and getattr(item, inner.name):
                setattr(item, inner.name, [])
            continue
        if inner.kind == "string" and inner.name in NAMES:
            setattr(item, inner.name, f"{number:x}")
        elif inner.kind == "int32" and inner.name in NUMBERS:
            setattr(item, inner.name, number)
    return item


NAMES = (
    "name", "topic", "topic_name", "group_id", "member_id", "transactional_id", "key", "resource_name", "principal",
    "log_dir", "user", "entity_type",
)  # fmt: skip
NUMBERS = ("partition_index", "partition", "node_id", "broker_id", "replica_id", "producer_id")
INTEGERS = (-(2**31), -2, -1, 0, 1, 2, 3, 2**31 - 1, 2**62)
TEXTS = ("", "t", "u", "g", "live", "other", "\n", "x" * 1000, "0", "-1")


def mutated(random: Random, response: Response, version: int, correlation_id: int, others: list[bytes]) -> bytes | None:
    """Return another frame for a response: of other values, of other bytes, or one that answered something else.

    Args: others: bodies that were sent before, behind the correlation id.
    """
    kind = random.randrange(10)
    if kind == 0 and others:
        body = random.choice(others)
    elif kind == 1:
        body = mutate(random, encode_response(response, version, correlation_id)[8:])
    else:
        changed = copy.deepcopy(response)
        for _ in range(random.choice((1, 1, 2, 5))):
            _change(random, changed)
        try:
            return encode_response(changed, version, correlation_id)
        except LocalProtocolError:
            return None
    return (len(body) + 4).to_bytes(4, "big") + correlation_id.to_bytes(4, "big") + body


def _change(random: Random, response: Struct) -> None:
    """Change one field somewhere."""
    structs = list(_structs(response))
    struct = random.choice(structs)
    if not type(struct).FIELDS:
        return
    entry = random.choice(type(struct).FIELDS)
    value = getattr(struct, entry.name)
    if isinstance(value, list):
        setattr(struct, entry.name, _other_list(random, value))
    elif isinstance(value, bool):
        setattr(struct, entry.name, not value)
    elif isinstance(value, int):
        bits = {"int8": 8, "int16": 16, "int32": 32, "int64": 64, "uint16": 17, "uint32": 33}.get(str(entry.kind), 64)
        fitting = [each for each in INTEGERS if -(2 ** (bits - 1)) <= each < 2 ** (bits - 1)]
        codes = entry.name == "error_code"
        setattr(struct, entry.name, random.randrange(-1, 130) if codes else random.choice(fitting))
    elif isinstance(value, str) or entry.kind == "string":
        setattr(struct, entry.name, random.choice((*TEXTS, None)) if value is not None else random.choice(TEXTS))
    elif isinstance(value, bytes) and entry.kind != "uuid":
        setattr(struct, entry.name, random.choice((b"", value[:-1], mutate(random, value), value * 2)))
    elif entry.kind == "uuid":
        setattr(struct, entry.name, random.choice((bytes(16), b"\1" * 16)))


def _other_list(random: Random, value: list[Any]) -> list[Any]:
    kind = random.randrange(5)
    if kind == 0:
        return []
    if kind == 1:
        return [*value, *copy.deepcopy(value)]
    if kind == 2:
        return value[1:]
    if kind == 3:
        return random.sample(value, len(value))
    return [*value, *copy.deepcopy(value[-1:] * 20)]


def _structs(struct: Struct) -> Iterator[Struct]:
    yield struct
    for entry in type(struct).FIELDS:
        value = getattr(struct, entry.name)
        for inner in value if isinstance(value, list) else [value]:
            if isinstance(inner, Struct):
                yield from _structs(inner)
