"""The APIs a sandbox node answers: one file each, and this table of them.

An API is added by a file with a `HANDLER` and a line here. Shown by tests/unit/sandbox/apis.
"""

from typing import Any

from kctl.sandbox.apis import (
    add_offsets_to_txn,
    add_partitions_to_txn,
    api_versions,
    consumer_group_describe,
    consumer_group_heartbeat,
    create_topics,
    delete_groups,
    delete_records,
    delete_topics,
    describe_cluster,
    describe_configs,
    describe_groups,
    describe_producers,
    describe_transactions,
    end_txn,
    fetch,
    find_coordinator,
    get_telemetry_subscriptions,
    heartbeat,
    init_producer_id,
    join_group,
    leave_group,
    list_groups,
    list_offsets,
    list_transactions,
    metadata,
    offset_commit,
    offset_delete,
    offset_fetch,
    offset_for_leader_epoch,
    produce,
    push_telemetry,
    sasl_authenticate,
    sasl_handshake,
    sync_group,
    txn_offset_commit,
)
from kctl.sandbox.call import Handler

HANDLERS: dict[int, Handler[Any]] = {
    handler.request.API_KEY: handler
    for handler in (
        produce.HANDLER,
        fetch.HANDLER,
        list_offsets.HANDLER,
        metadata.HANDLER,
        offset_commit.HANDLER,
        offset_fetch.HANDLER,
        find_coordinator.HANDLER,
        join_group.HANDLER,
        heartbeat.HANDLER,
        leave_group.HANDLER,
        sync_group.HANDLER,
        describe_groups.HANDLER,
        list_groups.HANDLER,
        sasl_handshake.HANDLER,
        api_versions.HANDLER,
        create_topics.HANDLER,
        delete_topics.HANDLER,
        delete_records.HANDLER,
        init_producer_id.HANDLER,
        offset_for_leader_epoch.HANDLER,
        add_partitions_to_txn.HANDLER,
        add_offsets_to_txn.HANDLER,
        end_txn.HANDLER,
        txn_offset_commit.HANDLER,
        sasl_authenticate.HANDLER,
        describe_cluster.HANDLER,
        describe_producers.HANDLER,
        describe_transactions.HANDLER,
        list_transactions.HANDLER,
        describe_configs.HANDLER,
        delete_groups.HANDLER,
        offset_delete.HANDLER,
        consumer_group_heartbeat.HANDLER,
        consumer_group_describe.HANDLER,
        get_telemetry_subscriptions.HANDLER,
        push_telemetry.HANDLER,
    )
}
"""By api key; ApiVersions names exactly these."""
FAIL_THEMSELVES = (fetch.HANDLER.request.API_KEY, produce.HANDLER.request.API_KEY)
"""APIs whose handlers look at `Call.fails_with`: what is asked is known to a session alone, or is done all the same."""
api_versions.offer(HANDLERS.values())
