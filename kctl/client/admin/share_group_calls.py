"""ShareGroupCalls: the methods of `Admin` about the offsets of share groups.

Owns their arguments; share_groups.py does the work. Shown by tests/sim/admin/test_share_groups.py.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta

from kctl.client.admin import share_groups
from kctl.client.admin.call import Call, Results
from kctl.client.admin.share_groups import ShareOffset
from kctl.client.cluster import TopicPartition

Timeout = float | timedelta | None


class ShareGroupCalls:
    """What `Admin` has about share groups beyond list_groups, describe_groups and delete_groups."""

    def _call(self, what: str, timeout: Timeout, partial_timeout: Timeout = None) -> Call:
        raise NotImplementedError

    def list_share_group_offsets(
        self, group_id: str, partitions: Sequence[TopicPartition] | None = None, *, timeout: Timeout = None
    ) -> Results[TopicPartition, ShareOffset]:
        """Return start offset and lag of each partition, or of all that the group has read.

        Raises:
            BrokerError: GROUP_ID_NOT_FOUND: there is no such share group.
            UnsupportedVersionError: the coordinator is older than Kafka 4.1.
        """
        call = self._call(f"listing offsets of share group {group_id}", timeout)
        return share_groups.list_share_offsets(call, group_id, partitions)

    def alter_share_group_offsets(
        self, group_id: str, offsets: Mapping[TopicPartition, int], *, timeout: Timeout = None
    ) -> Results[TopicPartition, None]:
        """Set start offsets; taken only while the group has no members (NON_EMPTY_GROUP otherwise)."""
        call = self._call(f"setting offsets of share group {group_id}", timeout)
        return share_groups.alter_share_offsets(call, group_id, offsets)

    def delete_share_group_offsets(
        self, group_id: str, topics: Iterable[str], *, timeout: Timeout = None
    ) -> Results[str, None]:
        """Forget where the group is in topics; taken only while it has no members."""
        call = self._call(f"deleting offsets of share group {group_id}", timeout)
        return share_groups.delete_share_offsets(call, group_id, topics)
