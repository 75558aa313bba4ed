"""Nearest names: the hint of errors about topics and groups that do not exist names the one that was probably meant.

Owns when the cluster is asked for its names: only after such an error, and for at most a second.
Shown by tests/cli/test_nearest_names.py.
"""

from collections.abc import Collection, Iterable, Mapping

from kctl.client.admin import Admin, ConfigResource, ResourceType
from kctl.client.broker_errors import ErrorCode
from kctl.client.config import nearest_name
from kctl.client.errors import BrokerError, KafkaError

PATIENCE_S = 1.0
"""A hint is not worth more of the API timeout; a frozen broker may not list its groups."""


def suggest_topics(admin: Admin, failed: Mapping[str, KafkaError]) -> None:
    """Set the hint of each error that says that there is no such topic, where another has a similar name."""
    unknown = _unknown(failed, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    if unknown:
        try:
            _set_hints(unknown, admin.list_topics(timeout=PATIENCE_S))
        except KafkaError:
            return


def suggest_groups(admin: Admin, failed: Mapping[str, KafkaError]) -> None:
    """Set the hint of each error that says that there is no such group, where another has a similar name."""
    unknown = _unknown(failed, ErrorCode.GROUP_ID_NOT_FOUND)
    if unknown:
        try:
            _set_hints(unknown, admin.list_groups(timeout=PATIENCE_S).groups)
        except KafkaError:
            return


def suggest_resources(admin: Admin, failed: Mapping[ConfigResource, KafkaError]) -> None:
    """Do the same for resources with configs that are topics."""
    suggest_topics(admin, {one.name: error for one, error in failed.items() if one.type is ResourceType.TOPIC})


def name_nearest(error: BrokerError, name: str, known: Collection[str]) -> None:
    """Set the hint of an error about a name, where a known one is similar."""
    meant = None if name in known else nearest_name(name, known)
    if meant is not None:
        error.hint = f"did you mean {meant}?"


def _unknown(failed: Mapping[str, KafkaError], code: ErrorCode) -> dict[str, BrokerError]:
    return {name: error for name, error in failed.items() if isinstance(error, BrokerError) and error.code == code}


def _set_hints(unknown: Mapping[str, BrokerError], known: Iterable[str]) -> None:
    names = list(known)
    for name, error in unknown.items():
        name_nearest(error, name, names)
