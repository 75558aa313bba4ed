"""Client quotas: the entities that have quotas, and the quotas that apply to a client.

Source: ClientQuotaManager.DefaultQuotaCallback of Kafka 4.3; SocketServer's ConnectionQuotas for addresses.
"""

from collections.abc import Mapping
from typing import NamedTuple

USER, CLIENT_ID, IP = ENTITY_TYPES = ("user", "client-id", "ip")
DEFAULT_TEXT = "<default>"
"""Text for the default of a type, which applies to names without a quota."""


class QuotaEntity(NamedTuple):
    """Entity of a quota: a user, a client id, a user with a client id, or an address.

    Attributes: parts: type and name of each part, in the order of `ENTITY_TYPES`; the name None is the default of the
        type.
    """

    parts: tuple[tuple[str, str | None], ...]

    @classmethod
    def of(cls, names: Mapping[str, str | None]) -> "QuotaEntity":
        """Return the entity with these names by type. Raises: ValueError: a type is unknown."""
        unknown = sorted(names.keys() - set(ENTITY_TYPES))
        if unknown:
            raise ValueError(f"invalid entity type {unknown[0]!r}: use one of {', '.join(ENTITY_TYPES)}")
        return cls(tuple((kind, names[kind]) for kind in ENTITY_TYPES if kind in names))

    def __str__(self) -> str:
        return ", ".join(f"{kind} {DEFAULT_TEXT if name is None else name}" for kind, name in self.parts)


Quotas = dict[str, float]
"""Quotas by key, such as producer_byte_rate."""


class EffectiveQuota(NamedTuple):
    """A quota that applies to a client, and the entity that has it."""

    value: float
    source: QuotaEntity


def effective_quotas(
    quotas: Mapping[QuotaEntity, Mapping[str, float]],
    *,
    user: str | None = None,
    client_id: str | None = None,
    ip: str | None = None,
) -> dict[str, EffectiveQuota]:
    """Return the quotas that apply to a client, by key, each from the first matching entity in Kafka's order.

    Args: user, client_id, ip: values of the client; if None, only defaults match.
    """
    order: list[dict[str, str | None]] = []
    for name in _names(user):
        order += [*({USER: name, CLIENT_ID: each} for each in _names(client_id)), {USER: name}]
    order += [*({CLIENT_ID: each} for each in _names(client_id)), *({IP: each} for each in _names(ip))]
    found: dict[str, EffectiveQuota] = {}
    for one in map(QuotaEntity.of, order):
        for key, value in quotas.get(one, {}).items():
            found.setdefault(key, EffectiveQuota(value, one))
    return found


def _names(name: str | None) -> list[str | None]:
    return [None] if name is None else [name, None]
