"""Error messages of brokers in responses, in which secrets of the login are masked before anything reads them."""

from collections.abc import Callable
from functools import cache

from kctl.client.protocol.schema import Struct


def mask_error_messages(struct: Struct, masked: Callable[[str], str]) -> None:
    texts, parts = _places(type(struct))
    for name in texts:
        text = getattr(struct, name)
        if text:
            setattr(struct, name, masked(text))
    for name in parts:
        value = getattr(struct, name)
        for part in value if isinstance(value, list) else () if value is None else (value,):
            mask_error_messages(part, masked)


@cache
def _places(cls: type[Struct]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the fields with error messages, and the fields whose structs contain some: none in Fetch."""
    texts, parts = [], []
    for each in cls.FIELDS:
        if isinstance(each.kind, str):
            if each.kind == "string" and each.name.endswith("error_message"):
                texts.append(each.name)
        elif any(_places(each.kind)):
            parts.append(each.name)
    return tuple(texts), tuple(parts)
