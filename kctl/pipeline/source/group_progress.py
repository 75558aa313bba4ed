"""GroupProgress: progress of a stream, committed as the offsets of a consumer group without members.

Committed offsets never exceed durable batches. A failed commit is only a warning, because no data is lost.
"""

from collections.abc import Sequence
from types import TracebackType
from typing import Final, Self

from kctl.client.admin import Admin
from kctl.client.broker_errors import ErrorCode
from kctl.client.cluster import TopicPartition
from kctl.client.errors import BrokerError, ConfigError, KafkaError
from kctl.client.network.system import system_runtime
from kctl.client.runtime import Runtime
from kctl.pipeline.ranges import Offsets, Properties

MOST_COMMIT_MS: Final = 5_000
"""Maximum time in ms for a commit. The batch is already durable."""


class GroupProgress:
    """Committer of the offsets of one group; a context manager."""

    def __init__(self, properties: Properties, group: str, runtime: Runtime | None = None) -> None:
        self._admin = Admin(properties, runtime or system_runtime())
        self._timeout_s = min(MOST_COMMIT_MS, self._admin.config.default_api_timeout_ms) / 1000
        self._group = group
        self._committed: Offsets = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None = None,
        error: BaseException | None = None,
        trace: TracebackType | None = None,
    ) -> None:
        self._admin.close()

    def check(self) -> None:
        """Raise ConfigError if the group has members."""
        described = self._admin.describe_groups([self._group])
        error = described.failed.get(self._group)
        if isinstance(error, BrokerError) and error.code == ErrorCode.GROUP_ID_NOT_FOUND:
            return
        described.raise_first()
        if members := len(described[self._group].members):
            raise ConfigError(
                f"cannot commit the progress to group {self._group}: the group has active "
                f"members ({members}). Choose another group",
                key="group",
            )

    def refuse_offsets(self, partitions: Sequence[TopicPartition]) -> None:
        """Raise ConfigError if the group has offsets of these partitions, which the first commit would overwrite."""
        found = self._admin.list_group_offsets(self._group, partitions)
        found.raise_first()
        for tp, committed in found.done.items():
            if committed is None:
                continue
            raise ConfigError(
                f"cannot commit the progress to group {self._group}: the group already has offsets, such as "
                f"{committed.offset} for {tp}. Choose another group, or delete the offsets with: kctl groups "
                f"delete-offsets",
                key="group",
            )

    def commit(self, offsets: Offsets) -> str:
        """Commit offsets that are not committed yet. Return the error message of a failure, or an empty string."""
        new = {tp: offset for tp, offset in offsets.items() if self._committed.get(tp) != offset}
        if not new:
            return ""
        try:
            results = self._admin.alter_group_offsets(self._group, new, timeout=self._timeout_s)
        except KafkaError as e:
            return self._problem(e)
        self._committed |= {tp: new[tp] for tp in results.done}
        failure = next(iter(results.failed.values()), None)
        return "" if failure is None else self._problem(failure)

    def _problem(self, error: KafkaError) -> str:
        why = str(error)
        if isinstance(error, BrokerError) and error.code == ErrorCode.UNKNOWN_MEMBER_ID:
            why = "the group now has active members"
        return f"cannot commit the progress to group {self._group}: {why}"
