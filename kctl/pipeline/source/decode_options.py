"""The options decode, decodeSchema, decodeMessage and schema.registry.*, parsed at planning.

Imports for decoding are deferred until the option is set.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from kctl.client.errors import ConfigError

if TYPE_CHECKING:
    from kctl.pipeline.decoding.plan import DecodeRequest

_DECODE, _SCHEMA, _MESSAGE = "decode", "decodeSchema", "decodeMessage"
REGISTRY = "schema.registry."
"""Prefix of schema registry properties."""


def decode_request(given: Mapping[str, str]) -> "DecodeRequest | None":
    registry = {name: value for name, value in given.items() if name.startswith(REGISTRY)}
    forms = _by_side(given, _DECODE)
    if not forms:
        for option in (_SCHEMA, _MESSAGE):
            if option.lower() in given:
                raise ConfigError(f"option {option} needs option {_DECODE}", key=option)
        if registry:
            raise ConfigError(f"option {next(iter(registry))} needs option {_DECODE}", key=_DECODE)
        return None
    from kctl.pipeline.decoding.plan import KEY, VALUE, DecodeRequest, check_registry, side_request
    from kctl.pipeline.references import refuse_plain_secrets

    schemas, messages = _by_side(given, _SCHEMA), _by_side(given, _MESSAGE)
    for option, found in ((_SCHEMA, schemas), (_MESSAGE, messages)):
        if more := sorted(set(found) - set(forms)):
            raise ConfigError(f"option {option} has a value for {more[0]}, but option {_DECODE} does not", key=option)
    check_registry(registry)
    refuse_plain_secrets(registry)
    sides = {side: side_request(side, form, schemas.get(side), messages.get(side)) for side, form in forms.items()}
    return DecodeRequest(sides.get(KEY), sides.get(VALUE), tuple(registry.items()))


def _by_side(given: Mapping[str, str], option: str) -> dict[str, str]:
    """Return the value of an option for keys and values. Plain text applies to both, `key=A,value=B` to each."""
    found: dict[str, str] = {}
    for part in given.get(option.lower(), "").split(","):
        text = part.strip()
        side, equals, rest = text.partition("=")
        if equals and side in ("key", "value"):
            found[side] = rest
        elif text:
            found |= {"key": text, "value": text}
    return found
