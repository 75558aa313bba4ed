"""Which of several quotas applies to a client: Kafka's order, key by key."""

import pytest

from kctl.client.quotas import QuotaEntity, effective_quotas

ORDER: list[dict[str, str | None]] = [
    {"user": "u", "client-id": "c"},
    {"user": "u", "client-id": None},
    {"user": "u"},
    {"user": None, "client-id": "c"},
    {"user": None, "client-id": None},
    {"user": None},
    {"client-id": "c"},
    {"client-id": None},
]
"""Source: the documentation of Kafka, Quotas, "Client quotas"."""


@pytest.mark.parametrize("first", range(len(ORDER)))
def test_most_specific_entity_wins(first: int) -> None:
    quotas = {QuotaEntity.of(names): {"k": float(at)} for at, names in enumerate(ORDER) if at >= first}
    found = effective_quotas(quotas, user="u", client_id="c")["k"]
    assert (found.value, found.source) == (first, QuotaEntity.of(ORDER[first]))


def test_each_key_has_an_entity_of_its_own() -> None:
    quotas = {QuotaEntity.of({"user": "u"}): {"a": 1.0}, QuotaEntity.of({"client-id": "c"}): {"a": 2.0, "b": 3.0}}
    found = effective_quotas(quotas, user="u", client_id="c")
    assert {key: each.value for key, each in found.items()} == {"a": 1.0, "b": 3.0}


def test_quotas_of_others_do_not_apply() -> None:
    others: list[dict[str, str | None]] = [
        {"user": "v"},
        {"client-id": "d"},
        {"user": "u", "client-id": "d"},
        {"ip": "10.0.0.1"},
    ]
    quotas = {QuotaEntity.of(names): {"k": 1.0} for names in others}
    assert effective_quotas(quotas, user="u", client_id="c", ip="10.0.0.2") == {}
    assert effective_quotas(quotas) == {}


def test_address_goes_before_the_default_of_addresses() -> None:
    quotas = {QuotaEntity.of({"ip": "10.0.0.1"}): {"k": 1.0}, QuotaEntity.of({"ip": None}): {"k": 2.0}}
    assert effective_quotas(quotas, ip="10.0.0.1")["k"].value == 1.0
    assert effective_quotas(quotas, ip="10.0.0.2")["k"].value == 2.0


def test_unknown_type_of_entity_is_refused() -> None:
    with pytest.raises(ValueError, match="invalid entity type 'planet': use one of user, client-id, ip"):
        QuotaEntity.of({"planet": "mars"})
