"""The consumer: reads records of partitions, its own choice or its share in a group.

    consumer.py          the public face: arguments, timers, what is promised      application
    one_user.py          refuses a second thread that uses the consumer            application
    application_side.py  what it is made of behind that face, and a poll's turn    application
    subscription.py      what is assigned, and the position in each partition      application
    fetched_data.py      what was fetched and not yet delivered                    application
    lookups.py           questions to the cluster, with a timer or in background   application
    mailbox.py           the queues between the two threads; all waiting           both
    events.py            the events in the two queues: all that is shared          both
    offset_tracker.py    offsets to commit while worker threads process records    both
    waiting.py           why nothing arrives, as a value                           both
    close.py             a consumer's part of the close sequence                   both
    network_loop.py      owns the sockets and the request managers                 network
    fetch/               fetches, their sessions, and why partitions wait          network
    offset_queries.py    offsets by timestamp: calls and positions                 network
    broker_queries.py    calls that any broker can answer                          network
    group/               membership by both protocols, commits, and the application's part of it
    assignors/           who gets which partition, where members decide that
    chunk.py             what one fetch brought of one partition, undecoded

A record's way: the fetch manager asks a leader, walks the headers of what came and hands it over as a chunk; the
application decodes it in poll and moves the position past it. Every decision about a partition (assign, seek, reset)
gets a number, the epoch; what answers an older one is dropped.

In a group every change of the assignment is one numbered event. The application applies and confirms it in poll; the
network lets others have a partition only then, and only when the commits made before have ended.
"""

from kctl.client.consumer.chunk import FetchedChunk
from kctl.client.consumer.close import COMMITTING, LEAVING
from kctl.client.consumer.consumer import Consumer, ConsumerRecord
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
    "RebalanceListener",
    "WaitKind",
    "WaitReason",
]
