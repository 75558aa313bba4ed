"""Consumer: reads records of partitions that the application or its group assigns.

    application thread  consumer.py (public API), one_user.py, application_side.py, subscription.py, fetched_data.py,
                        lookups.py
    network thread      network_loop.py, fetch/, offset_queries.py, broker_queries.py
    both                mailbox.py and events.py (the only shared data), offset_tracker.py, waiting.py, close.py, group/

The fetch manager passes on responses as undecoded chunks (chunk.py). In poll, the application decodes chunks and moves
the positions. Every decision about a partition (assign, seek, reset) has a number, the epoch. Responses to requests of
older epochs are dropped.

Each change of a group's assignment is a numbered event, which the application applies and confirms in poll. The network
thread releases the partitions after this confirmation, and after earlier commits have ended.
"""

from kctl.client.consumer.chunk import FetchedChunk
from kctl.client.consumer.close import COMMITTING, LEAVING
from kctl.client.consumer.consumer import Consumer, ConsumerRecord, OnPoll
from kctl.client.consumer.events import EARLIEST_TIMESTAMP, LATEST_TIMESTAMP
from kctl.client.consumer.fetch.manager import PREFETCH_BYTES
from kctl.client.consumer.group.application_side import RebalanceListener
from kctl.client.consumer.group.events import GroupMetadata, Offsets
from kctl.client.consumer.lookups import OffsetLookup
from kctl.client.consumer.offset_tracker import OffsetTracker
from kctl.client.consumer.waiting import WaitKind, WaitReason
from kctl.client.loop.close import CloseResult

__all__ = [
    "COMMITTING",
    "EARLIEST_TIMESTAMP",
    "LATEST_TIMESTAMP",
    "LEAVING",
    "PREFETCH_BYTES",
    "CloseResult",
    "Consumer",
    "ConsumerRecord",
    "FetchedChunk",
    "GroupMetadata",
    "OffsetLookup",
    "OffsetTracker",
    "Offsets",
    "OnPoll",
    "RebalanceListener",
    "WaitKind",
    "WaitReason",
]
