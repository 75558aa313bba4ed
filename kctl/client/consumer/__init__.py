"""Consumer: reads records of partitions that it chooses, or that its group assigns.

    consumer.py          public API                                                application
    one_user.py          rejects a second thread                                   application
    application_side.py  parts of the consumer on the application thread, poll     application
    subscription.py      assignment, and the position in each partition            application
    fetched_data.py      fetched data that was not yet returned                    application
    lookups.py           requests, blocking or in the background                   application
    mailbox.py           queues between the two threads                            both
    events.py            events in the queues: the only shared data                both
    offset_tracker.py    offsets to commit if worker threads process records       both
    waiting.py           reasons why no records arrive                             both
    close.py             the consumer's part of the close sequence                 both
    network_loop.py      sockets and request managers                              network
    fetch/               fetches, fetch sessions, reasons of waits                 network
    offset_queries.py    offsets by timestamp                                      network
    broker_queries.py    calls that any broker can handle                          network
    group/               membership by both protocols, and commits                 both
    assignors/           assignment of partitions by members
    chunk.py             undecoded result of one fetch of one partition

The fetch manager passes on responses as undecoded chunks. The application decodes a chunk in poll and moves the
position. Every decision about a partition (assign, seek, reset) has a number, the epoch; responses to older ones are
dropped.

Each change of a group's assignment is a numbered event, which the application applies and confirms in poll. Only then,
and after earlier commits have ended, does the network thread release the partitions.
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
