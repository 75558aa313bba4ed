"""Client quotas of a cluster, by entity, and Kafka's checks of changes."""

from collections.abc import Mapping
from ipaddress import ip_address

from kctl.client.quotas import CLIENT_ID, ENTITY_TYPES, IP, USER, EffectiveQuota, QuotaEntity, effective_quotas

_LONG, _DOUBLE = "long", "double"
_OF_CLIENTS = {
    "producer_byte_rate": _LONG,
    "consumer_byte_rate": _LONG,
    "request_percentage": _DOUBLE,
    "controller_mutation_rate": _DOUBLE,
}
_OF_ADDRESSES = {"connection_creation_rate": _LONG}
_LARGEST = float(2**63)


class QuotaRefused(Exception):
    """Invalid change of quotas; the text is sent to the client."""


class ClientQuotas:
    def __init__(self) -> None:
        self.of: dict[QuotaEntity, dict[str, float]] = {}

    def change(self, entity: QuotaEntity, changes: Mapping[str, float | None], *, validate_only: bool) -> None:
        """Set and remove quotas of an entity, either all or none."""
        kinds = _OF_ADDRESSES if dict(entity.parts).keys() == {IP} else _OF_CLIENTS
        for key, value in changes.items():
            _check(kinds, key, value)
        if validate_only:
            return
        values = self.of.setdefault(entity, {})
        for key, value in changes.items():
            if value is None:
                values.pop(key, None)
            else:
                values[key] = value
        if not values:
            del self.of[entity]

    def effective(self, key: str, user: str, client_id: str) -> EffectiveQuota | None:
        if not self.of:
            return None
        return effective_quotas(self.of, user=user, client_id=client_id).get(key)


def _check_name(kind: str, name: str | None) -> None:
    if kind not in ENTITY_TYPES:
        raise QuotaRefused(f"Unhandled client quota entity type: {kind}")
    if name == "":
        raise QuotaRefused(f"Empty {kind} not supported")


def checked_entity(names: Mapping[str, str | None], count: int) -> QuotaEntity:
    """Return the entity with these names by type, or raise QuotaRefused.

    Args:
        count: number of types in the request, including duplicates.
    """
    if not names:
        raise QuotaRefused("Invalid empty client quota entity")
    for kind, name in names.items():
        _check_name(kind, name)
    if count > len(names) or (IP in names and len(names) > 1):
        raise QuotaRefused("Invalid quota entity combination")
    name = names.get(IP)
    if name is not None and not _is_address(name):
        raise QuotaRefused(f"{name} is not a valid IP or resolvable host.")
    return QuotaEntity.of(names)


def account_of(source: QuotaEntity, user: str, client_id: str) -> tuple[str, str]:
    """Return the user and client ID that a quota limits. The unused part is empty."""
    kinds = dict(source.parts)
    return user if USER in kinds else "", client_id if CLIENT_ID in kinds else ""


def _is_address(text: str) -> bool:
    try:
        ip_address(text)
    except ValueError:
        return text == "localhost"
    return True


def _check(kinds: Mapping[str, str], key: str, value: float | None) -> None:
    if key not in kinds:
        raise QuotaRefused(f"Invalid configuration key {key}")
    if value is None:
        return
    if value <= 0:
        raise QuotaRefused(f"Quota {key} must be greater than 0")
    if kinds[key] == _LONG and (value >= _LARGEST or value != int(value)):
        raise QuotaRefused(f"{key} must be a Long value")
