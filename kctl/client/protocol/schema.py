"""Declarations of messages: a class for each message, a line for each field.

    class MetadataRequestTopic(Struct):
        topic_id: bytes = field("uuid", "10+", default=ZERO_UUID, ignorable=True)
        name: str | None = field("string", "0+", nullable="10+", default="")

Classes have slots, accept keywords only, and start with Kafka's defaults. A constructor is compiled for the first
object.
"""

from collections.abc import Callable
from typing import Any, ClassVar, Final, TypeVar, dataclass_transform

from kctl.client.protocol.primitives import ZERO_UUID, uuid_text

__all__ = ["NEVER", "ZERO_UUID", "Field", "Message", "Request", "Response", "Struct", "Versions", "field"]

NEVER: Final = 32768
"""Version above all others; `flexible_from=NEVER` means that no version of an API is flexible."""

Versions = tuple[int, int]
"""First and last version, inclusive; empty if the first is greater."""

NO_VERSIONS: Final[Versions] = (NEVER, -1)

T = TypeVar("T")

_MISSING: Final[Any] = object()


def parse_versions(text: str) -> Versions:
    """Return the range that Kafka writes as `3`, `3-7`, `3+`, or `none`."""
    if text == "none":
        return NO_VERSIONS
    if text.endswith("+"):
        return int(text[:-1]), NEVER - 1
    low, _, high = text.partition("-")
    return int(low), int(high or low)


_INFORMING = frozenset({"client_host", "cluster_id", "error_message", "rack", "rack_id"})


class Field:
    """A declared field; `field` describes its attributes."""

    __slots__ = (
        "default",
        "factory",
        "flexible",
        "ignorable",
        "is_array",
        "kind",
        "name",
        "nullable",
        "skipped",
        "tag",
        "tagged",
        "versions",
    )

    def __init__(
        self,
        kind: "str | type[Struct]",
        is_array: bool,
        versions: Versions,
        nullable: Versions,
        default: object,
        factory: Callable[[], object] | None,
        ignorable: bool,
        tag: int,
        tagged: Versions,
        flexible: bool,
        skipped: bool,
    ) -> None:
        self.name = ""  # set when the class is created
        self.kind = kind
        self.is_array = is_array
        self.versions = versions
        self.nullable = nullable
        self.default = default
        self.factory = factory
        self.ignorable = ignorable
        self.tag = tag
        self.tagged = tagged
        self.flexible = flexible
        self.skipped = skipped

    @property
    def informs(self) -> bool:
        """True for text for people, in which bytes that are not UTF-8 are replaced, as in Java."""
        return self.kind == "string" and self.name in _INFORMING

    def is_in(self, version: int) -> bool:
        return self.versions[0] <= version <= self.versions[1]

    def is_tagged_in(self, version: int) -> bool:
        return self.tagged[0] <= version <= self.tagged[1]

    def is_nullable_in(self, version: int) -> bool:
        return self.nullable[0] <= version <= self.nullable[1]

    def default_value(self) -> Any:
        """Return the default; lists and structs are created each time."""
        return self.default if self.factory is None else self.factory()


def field(
    kind: "str | type[Struct] | list[Any]",
    versions: str,
    *,
    default: T = _MISSING,
    factory: Callable[[], T] | None = None,
    nullable: str = "none",
    ignorable: bool = False,
    tag: int = -1,
    tagged: str = "none",
    flexible: bool = True,
    skipped: bool = False,
) -> T:
    """Declare a field of a struct.

    Args:
        kind: Kafka's word (`int8 int16 int32 int64 uint16 uint32 float64 bool string uuid bytes records`), a struct
            class, or a list with one of them for an array.
        versions: the versions that have the field.
        default: value in new messages, and in decoded messages of versions without the field.
        factory: creates the default, for lists and structs.
        nullable: the versions in which it may be None.
        ignorable: versions without the field drop its value silently; otherwise they accept only the default.
        tag, tagged: number in the tag section, and the versions that have the field there.
        flexible: False keeps the old string form in flexible versions (only for the client id of a request header).
        skipped: decode an array of structs as an empty list, which is faster.
    """
    result: Any = Field(
        kind[0] if isinstance(kind, list) else kind,
        isinstance(kind, list),
        parse_versions(versions),
        parse_versions(nullable),
        default,
        factory,
        ignorable,
        tag,
        parse_versions(tagged),
        flexible,
        skipped,
    )
    return result  # type: ignore[no-any-return]  # the class body sees the value's type, the metaclass the Field


class StructType(type):
    """Turns the `field()` lines of a class body into slots and a FIELDS tuple."""

    def __new__(mcs, name: str, bases: tuple[type, ...], body: dict[str, Any], /, **facts: object) -> "StructType":
        fields = []
        for key, value in list(body.items()):
            if isinstance(value, Field):
                value.name = key
                fields.append(value)
                del body[key]
        body.setdefault("__slots__", tuple(entry.name for entry in fields))
        body["FIELDS"] = tuple(fields)
        return super().__new__(mcs, name, bases, body, **facts)


@dataclass_transform(kw_only_default=True, eq_default=False, field_specifiers=(field,))
class Struct(metaclass=StructType):
    """A group of fields; equal if all fields and unknown tagged fields are equal. Declared structs are not subclassed.

    Attributes: unknown_tagged_fields: bytes by tag; they are kept if a decoded message is encoded again.
    """

    __slots__ = ("unknown_tagged_fields",)

    FIELDS: ClassVar[tuple[Field, ...]]
    unknown_tagged_fields: dict[int, bytes]

    def __init__(self, **values: object) -> None:
        cls = type(self)
        init = _compile_init(cls)
        type.__setattr__(cls, "__init__", init)
        init(self, **values)

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return NotImplemented
        return self.unknown_tagged_fields == getattr(other, "unknown_tagged_fields", None) and all(
            getattr(self, entry.name) == getattr(other, entry.name) for entry in self.FIELDS
        )

    __hash__ = None  # type: ignore[assignment]  # mutable

    def __repr__(self) -> str:
        parts = [f"{entry.name}={_show(entry, getattr(self, entry.name))}" for entry in self.FIELDS]
        if self.unknown_tagged_fields:
            sizes = ", ".join(f"{tag}: {len(raw)} bytes" for tag, raw in self.unknown_tagged_fields.items())
            parts.append(f"unknown_tagged_fields={{{sizes}}}")
        return f"{type(self).__name__}({', '.join(parts)})"


class Message(Struct):
    """A struct with versions, such as `class M(Message, versions=(0, 3), flexible_from=2)`.

    Attributes: NAME: Kafka's name of the API; by default, the class name without Request or Response.
    """

    NAME: ClassVar[str]
    VALID_VERSIONS: ClassVar[Versions]
    FLEXIBLE_FROM: ClassVar[int]

    def __init_subclass__(cls, *, versions: Versions = NO_VERSIONS, flexible_from: int = NEVER) -> None:
        if "NAME" not in vars(cls):
            cls.NAME = cls.__name__.removesuffix("Request").removesuffix("Response")
        cls.VALID_VERSIONS = versions
        cls.FLEXIBLE_FROM = flexible_from


class Response(Message):
    """A response; its request class has the same API key."""

    API_KEY: ClassVar[int]

    def __init_subclass__(cls, *, api_key: int, versions: Versions, flexible_from: int) -> None:
        super().__init_subclass__(versions=versions, flexible_from=flexible_from)
        cls.API_KEY = api_key


class Request(Message):
    """A request.

    Attributes:
        RESPONSE: class of its response, with the same API key and versions.
        LATEST_VERSION_UNSTABLE: whether the last version may still change, so it is never chosen.
    """

    API_KEY: ClassVar[int]
    RESPONSE: ClassVar[type[Response]]
    LATEST_VERSION_UNSTABLE: ClassVar[bool] = False

    def __init_subclass__(cls, *, response: type[Response]) -> None:
        super().__init_subclass__(versions=response.VALID_VERSIONS, flexible_from=response.FLEXIBLE_FROM)
        cls.API_KEY = response.API_KEY
        cls.RESPONSE = response


def _compile_init(cls: type[Struct]) -> Callable[..., None]:
    namespace: dict[str, Any] = {"_missing": _MISSING}
    arguments = ["*"] if cls.FIELDS else []
    body = ["    self.unknown_tagged_fields = {}\n"]
    for entry in cls.FIELDS:
        name = entry.name
        if entry.factory is None:
            namespace[f"_default_{name}"] = entry.default
            arguments.append(f"{name}=_default_{name}")
            body.append(f"    self.{name} = {name}\n")
        else:
            namespace[f"_new_{name}"] = entry.factory
            arguments.append(f"{name}=_missing")
            body.append(f"    self.{name} = _new_{name}() if {name} is _missing else {name}\n")
    source = f"def __init__({', '.join(['self', *arguments])}):\n{''.join(body)}"
    exec(source, namespace)  # noqa: S102 - the source is made of declared names only
    init: Callable[..., None] = namespace["__init__"]
    init.__qualname__ = f"{cls.__qualname__}.__init__"
    return init


def _show(entry: Field, value: Any) -> str:
    """Return a field's value for users; of bytes, only the size, because they may be a password or a megabyte."""
    if value is None or isinstance(entry.kind, type):
        return repr(value)
    if entry.kind in ("bytes", "records"):
        return f"<{len(value)} bytes>"
    if entry.kind == "uuid":
        return f"[{', '.join(map(uuid_text, value))}]" if entry.is_array else uuid_text(value)
    return repr(value)
