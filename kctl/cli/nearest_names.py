"""Hints with similar names, for errors about topics, groups, users and transactions that do not exist.

Names are listed only after such an error, with a timeout of a second.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import TYPE_CHECKING

from kctl.client.broker_errors import ErrorCode
from kctl.client.config import nearest_name
from kctl.client.errors import BrokerError, KafkaError

if TYPE_CHECKING:
    from kctl.client.admin import Admin, ConfigResource
    from kctl.client.consumer import Consumer

PATIENCE_S = 1.0
"""Timeout to list names: a frozen broker may not list its groups, and the API timeout is worth more."""


def suggest_topics(client: "Admin | Consumer", failed: Mapping[str, KafkaError]) -> None:
    """Add a similar name to each error about a topic that does not exist."""
    _suggest(failed, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, lambda: client.list_topics(timeout=PATIENCE_S))


def suggest_groups(admin: "Admin", failed: Mapping[str, KafkaError]) -> None:
    _suggest(failed, ErrorCode.GROUP_ID_NOT_FOUND, lambda: admin.list_groups(timeout=PATIENCE_S).groups)


def suggest_users(admin: "Admin", failed: Mapping[str, KafkaError]) -> None:
    _suggest(
        failed, ErrorCode.RESOURCE_NOT_FOUND, lambda: admin.describe_user_scram_credentials(timeout=PATIENCE_S).done
    )


def suggest_transactions(admin: "Admin", failed: Mapping[str, KafkaError]) -> None:
    _suggest(
        failed, ErrorCode.TRANSACTIONAL_ID_NOT_FOUND, lambda: admin.list_transactions(timeout=PATIENCE_S).transactions
    )


def suggest_resources(admin: "Admin", failed: "Mapping[ConfigResource, KafkaError]") -> None:
    suggest_topics(admin, {one.name: error for one, error in failed.items() if one.type.name == "TOPIC"})


def name_nearest(error: BrokerError, name: str, known: Collection[str]) -> None:
    """Set the hint of an error to the known name most similar to `name`, if there is one."""
    meant = None if name in known else nearest_name(name, known)
    if meant is not None:
        error.hint = f"did you mean {meant}?"


def _suggest(failed: Mapping[str, KafkaError], code: ErrorCode, known: Callable[[], Iterable[str]]) -> None:
    """Add a hint to each error with `code`. Names are listed if needed; without a list, there are no hints."""
    unknown = {name: error for name, error in failed.items() if isinstance(error, BrokerError) and error.code == code}
    if unknown:
        try:
            names = list(known())
        except KafkaError:
            return
        for name, error in unknown.items():
            name_nearest(error, name, names)
