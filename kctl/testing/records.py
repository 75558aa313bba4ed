"""Records for tests, from plain values."""

from collections.abc import Iterable, Mapping

from kctl.client.records import Header, Record

Content = str | bytes | None
"""A key or a value. Strings are encoded in UTF-8."""
Headers = Mapping[str, Content] | Iterable[tuple[str, Content]]


def content(name: str, given: Content) -> bytes | None:
    """Return the bytes of a key or a value.

    Raises: TypeError: it is not a string, bytes, or None.
    """
    if isinstance(given, str):
        return given.encode()
    if given is None or isinstance(given, bytes):
        return given
    raise TypeError(f"{name} must be a string, bytes, or None, not {type(given).__name__}")


def header_list(given: Headers) -> list[Header]:
    pairs = given.items() if isinstance(given, Mapping) else given
    return [(name, content(f"header {name!r}", value)) for name, value in pairs]


def record(
    value: Content = None,
    *,
    key: Content = None,
    topic: str = "topic",
    partition: int = 0,
    offset: int = 0,
    headers: Headers = (),
    timestamp_ms: int = 0,
) -> Record:
    """Return a record as a consumer returns it.

    Args:
        value, key: bytes, a string (UTF-8), or None.
        headers: a mapping, or pairs of a name and a value.
        timestamp_ms: milliseconds since the epoch.
    """
    return Record.of(
        topic,
        partition,
        offset,
        key=content("key", key),
        value=content("value", value),
        headers=header_list(headers),
        timestamp_ms=timestamp_ms,
    )
