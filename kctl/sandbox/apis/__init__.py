"""The APIs a sandbox node answers: one file each, and this table of them.

An API is added by a file with a `HANDLER` and a line here. Shown by tests/unit/sandbox/apis.
"""

from typing import Any

from kctl.sandbox.apis import (
    api_versions,
    create_topics,
    delete_topics,
    describe_cluster,
    describe_configs,
    fetch,
    find_coordinator,
    init_producer_id,
    list_offsets,
    metadata,
    offset_commit,
    offset_fetch,
    produce,
    sasl_authenticate,
    sasl_handshake,
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
        sasl_handshake.HANDLER,
        api_versions.HANDLER,
        create_topics.HANDLER,
        delete_topics.HANDLER,
        init_producer_id.HANDLER,
        sasl_authenticate.HANDLER,
        describe_cluster.HANDLER,
        describe_configs.HANDLER,
    )
}
"""By api key; ApiVersions names exactly these."""
api_versions.offer(HANDLERS.values())
