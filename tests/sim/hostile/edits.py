"""Edits of responses: an array that fills a megabyte, other values, other bytes, responses to other requests."""

import copy
from collections.abc import Callable, Iterator
from functools import partial
from random import Random
from typing import Any

from kctl.client.errors import LocalProtocolError
from kctl.client.protocol.api.fetch import FetchResponse
from kctl.client.protocol.framing import encode_response, response_header_version
from kctl.client.protocol.primitives import MAX_STRING_BYTES, Malformed, Writer, uvarint
from kctl.client.protocol.schema import Field, Response, Struct
from kctl.client.protocol.walker import _Encode
from tests.fuzz.protocol.messages import mutate
from tests.sim.hostile.record_sets import RECORD_SETS, with_records

STUFFED_BYTES = 1_000_000
FORGED = "\nforged"
"""Text that starts a line in output that does not escape it."""
LARGE_TEXTS = {
    "letters": "x" * MAX_STRING_BYTES,
    "controls": f"\x1b{FORGED}" * (MAX_STRING_BYTES // (len(FORGED) + 1)),
    "marks": "a\u0301\u202e" * (MAX_STRING_BYTES // 6),
    "commas": "," * MAX_STRING_BYTES,
}
"""Contents of one string, which is as long as a string may be."""
LARGE_BYTES = {
    "letters": b"x" * STUFFED_BYTES,
    "a subscription": b"\0\0"
    + (142_857).to_bytes(4, "big")
    + b"".join(b"\0\5%05x" % each for each in range(142_857))
    + b"\xff\xff\xff\xff",
    "an assignment": b"\0\0"
    + (66_666).to_bytes(4, "big")
    + b"".join(b"\0\5%05x\0\0\0\1\0\0\0\0" % each for each in range(66_666))
    + b"\xff\xff\xff\xff",
    "an assignment with controls": b"\0\0\0\0\0\1\0\x08\x1b" + FORGED.encode() + b"\0\0\0\1\0\0\0\0\xff\xff\xff\xff",
}
"""Contents of one value of bytes: some have as many topics as a member of a group could send."""
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


def leaf_paths(cls: type[Struct], version: int, kind: str) -> Iterator[Path]:
    """Yield the paths of all fields of a kind that a version of a response has."""
    for entry in cls.FIELDS:
        if not entry.is_in(version):
            continue
        if entry.kind == kind:
            yield (entry.name,)
        elif isinstance(entry.kind, type):
            yield from ((entry.name, *rest) for rest in leaf_paths(entry.kind, version, kind))


class OneBody:
    """Edit that replaces all responses of one class by one body, cached because clients retry.

    Attributes: make: returns the bytes after the correlation ID for a response and version, or None to keep them.
    """

    def __init__(self, cls: type[Response], make: Callable[[Response, int], bytes | None]) -> None:
        self._cls = cls
        self._make = make
        self._bodies: dict[int, bytes] = {}
        """Bodies by version."""

    def __call__(self, response: Response, version: int, correlation_id: int) -> bytes | None:
        if type(response) is not self._cls:
            return None
        body = self._bodies.get(version) or self._make(response, version)
        if body is None:
            return None
        self._bodies[version] = body
        return _frame(correlation_id, body)


def _frame(correlation_id: int, body: bytes) -> bytes:
    return (len(body) + 4).to_bytes(4, "big") + correlation_id.to_bytes(4, "big") + body


def megabyte_edits(cls: type[Response], version: int) -> Iterator[tuple[str, OneBody]]:
    """Yield edits of a response, with their names: each fills one array, one string or one value of bytes."""
    for path in array_paths(cls, version):
        for are_same in (False, True):
            name = f"{cls.NAME} {'.'.join(path)}, {'the same item' if are_same else 'numbered items'}"
            yield name, OneBody(cls, partial(stuffed, path=path, are_same=are_same))
    for path in leaf_paths(cls, version, "string"):
        for kind, text in LARGE_TEXTS.items():
            yield f"{cls.NAME} {'.'.join(path)}, {kind}", OneBody(cls, partial(lengthened, path=path, data=text))
    for path in leaf_paths(cls, version, "bytes"):
        for kind, data in LARGE_BYTES.items():
            yield f"{cls.NAME} {'.'.join(path)}, {kind}", OneBody(cls, partial(lengthened, path=path, data=data))
    for record_set in RECORD_SETS if cls is FetchResponse else ():
        yield f"{cls.NAME} {record_set.__name__}", OneBody(cls, partial(with_records, make=record_set))


def lengthened(response: Response, version: int, path: Path, data: bytes | str) -> bytes | None:
    """Return the bytes behind the correlation id of a response with other contents in the place of one string or value
    of bytes; None if the version has no room for them.
    """
    whole = copy.deepcopy(response)
    entry, owner = _make_place(whole, path)
    setattr(owner, entry.name, [data] if entry.is_array else data)
    try:
        return encode_response(whole, version, 0)[8:]
    except LocalProtocolError:
        return None


def stuffed(response: Response, version: int, path: Path, *, are_same: bool) -> bytes:
    """Return the bytes after the correlation ID of a response with one array that fills a megabyte.

    Args: are_same: repeat one item; otherwise each item has a unique name or number.
    """
    whole = copy.deepcopy(response)
    entry, _ = _make_place(whole, path)
    flexible = version >= type(response).FLEXIBLE_FROM
    walk = _Stuffing(version, flexible, entry, are_same=are_same)
    try:
        walk.struct(whole)
    except Malformed:
        return encode_response(response, version, 0)[8:]
    return (b"\0" if response_header_version(type(response), version) else b"") + b"".join(walk.writer.parts)


def _make_place(struct: Any, path: Path) -> tuple[Field, Any]:
    """Return the field at a path and its struct; arrays before it get an item if they have none."""
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
    return (entry, struct) if len(path) == 1 else _make_place(value, path[1:])


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
    """Return the item with a unique name and number."""
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
TEXTS = ("", "t", "u", "g", "live", "other", FORGED, "x" * 1000, "0", "-1")


def mutated(random: Random, response: Response, version: int, correlation_id: int, others: list[bytes]) -> bytes | None:
    """Return another frame for a response: with other values, other bytes, or a previous body.

    Args: others: bodies that were sent before, without the correlation ID.
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
    return _frame(correlation_id, body)


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
