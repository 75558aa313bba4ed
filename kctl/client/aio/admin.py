"""AsyncAdmin: the calls of `Admin` as coroutines, on the event loop, without a thread."""

import asyncio
from collections.abc import Callable, Mapping
from functools import partial
from types import TracebackType
from typing import Self, TypeVar

from kctl.client.admin import Admin
from kctl.client.aio.bridge import awaited, run
from kctl.client.aio.surroundings import async_runtime
from kctl.client.aio.turns import after
from kctl.client.config import AdminConfig
from kctl.client.errors import ConcurrentModificationError
from kctl.client.events import EventSink, ignore_events
from kctl.client.loop.close import CloseResult
from kctl.client.runtime import Runtime

R = TypeVar("R")


class AsyncAdmin:
    """Admin client for coroutines, with the methods of `Admin`.

    Tasks of one event loop may share it. Calls run one after another, and their timeouts include the wait for earlier
    calls. A cancelled call may have had its effect.
    Args: as for `Admin`.
    """

    def __init__(
        self,
        config: Mapping[str, object] | AdminConfig,
        runtime: Runtime | None = None,
        *,
        events: EventSink = ignore_events,
    ) -> None:
        made, _ = async_runtime(runtime, has_network_thread=False)
        self._client = Admin(config, made, events=events)
        self._clock = made.clock
        self._turns: asyncio.Lock | None = None
        """Created on the event loop that uses it."""
        self._loop: asyncio.AbstractEventLoop | None = None

    async def _run(self, call: Callable[[], R]) -> R:
        loop = asyncio.get_running_loop()
        if self._turns is None or self._loop is not loop:
            if self._turns is not None and self._turns.locked() and self._loop is not None and self._loop.is_running():
                raise ConcurrentModificationError("another event loop is using this admin client")
            self._turns, self._loop = asyncio.Lock(), loop
        if isinstance(call, partial):
            waiting_for = f"{call.func.__name__}(): waiting for other calls of this admin client"
            default_ms = self._client.config.default_api_timeout_ms
            call = await after(self._turns.acquire, call, self._clock, default_ms, waiting_for)
        else:
            await self._turns.acquire()
        try:
            return await run(call)
        finally:
            self._turns.release()

    create_topics = awaited(Admin.create_topics)
    delete_topics = awaited(Admin.delete_topics)
    list_topics = awaited(Admin.list_topics)
    list_topic_names = awaited(Admin.list_topic_names)
    describe_topics = awaited(Admin.describe_topics)
    create_partitions = awaited(Admin.create_partitions)
    delete_records = awaited(Admin.delete_records)
    list_offsets = awaited(Admin.list_offsets)
    wait_for_topics = awaited(Admin.wait_for_topics)

    describe_cluster = awaited(Admin.describe_cluster)
    describe_features = awaited(Admin.describe_features)
    describe_quorum = awaited(Admin.describe_quorum)
    describe_log_dirs = awaited(Admin.describe_log_dirs)
    metadata_views = awaited(Admin.metadata_views)
    request_api = awaited(Admin.request_api)

    describe_configs = awaited(Admin.describe_configs)
    alter_configs = awaited(Admin.alter_configs)

    list_groups = awaited(Admin.list_groups)
    describe_groups = awaited(Admin.describe_groups)
    delete_groups = awaited(Admin.delete_groups)
    remove_members = awaited(Admin.remove_members)
    list_group_offsets = awaited(Admin.list_group_offsets)
    list_offsets_of_groups = awaited(Admin.list_offsets_of_groups)
    alter_group_offsets = awaited(Admin.alter_group_offsets)
    delete_group_offsets = awaited(Admin.delete_group_offsets)
    list_share_group_offsets = awaited(Admin.list_share_group_offsets)
    alter_share_group_offsets = awaited(Admin.alter_share_group_offsets)
    delete_share_group_offsets = awaited(Admin.delete_share_group_offsets)

    describe_acls = awaited(Admin.describe_acls)
    create_acls = awaited(Admin.create_acls)
    delete_acls = awaited(Admin.delete_acls)
    describe_user_scram_credentials = awaited(Admin.describe_user_scram_credentials)
    alter_user_scram_credentials = awaited(Admin.alter_user_scram_credentials)
    describe_client_quotas = awaited(Admin.describe_client_quotas)
    alter_client_quotas = awaited(Admin.alter_client_quotas)

    elect_leaders = awaited(Admin.elect_leaders)
    eligible_leaders = awaited(Admin.eligible_leaders)
    epoch_ends = awaited(Admin.epoch_ends)
    alter_partition_reassignments = awaited(Admin.alter_partition_reassignments)
    list_partition_reassignments = awaited(Admin.list_partition_reassignments)

    list_transactions = awaited(Admin.list_transactions)
    describe_transactions = awaited(Admin.describe_transactions)
    describe_producers = awaited(Admin.describe_producers)
    open_transactions = awaited(Admin.open_transactions)
    abort_transaction = awaited(Admin.abort_transaction)
    find_records = awaited(Admin.find_records)
    inspect_records = awaited(Admin.inspect_records)
    sample_keys = awaited(Admin.sample_keys)

    create_delegation_token = awaited(Admin.create_delegation_token)
    describe_delegation_tokens = awaited(Admin.describe_delegation_tokens)
    renew_delegation_token = awaited(Admin.renew_delegation_token)
    expire_delegation_token = awaited(Admin.expire_delegation_token)
    fence_producers = awaited(Admin.fence_producers)
    alter_replica_log_dirs = awaited(Admin.alter_replica_log_dirs)
    describe_replica_log_dirs = awaited(Admin.describe_replica_log_dirs)
    update_features = awaited(Admin.update_features)
    add_raft_voter = awaited(Admin.add_raft_voter)
    remove_raft_voter = awaited(Admin.remove_raft_voter)
    unregister_broker = awaited(Admin.unregister_broker)

    async def close(self) -> CloseResult:
        """Close the sockets after the pending calls. Idempotent."""
        return await self._run(self._client.close)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.close()
