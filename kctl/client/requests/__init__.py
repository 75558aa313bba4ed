"""Requests: conversations with Kafka, shared by consumer, producer, admin client, and probe.

request.py           result of polling a request manager: requests to send, and the next deadline
retry.py             table of retries: whether, where, and after which pause
items.py             items of a response, each exactly once
find_coordinator.py  FindCoordinator
leaders.py           leaders of partitions by the metadata
list_offsets.py      ListOffsets
group_offsets.py     OffsetFetch, OffsetCommit, OffsetDelete
leave_group.py       LeaveGroup
producer_id.py       InitProducerId
topics.py            Metadata request about topics, and its response
coordinator.py       coordinator of a group or transactional.id, and connections to it

Nothing in the package waits or has a thread: network threads and admin calls (`admin/call.py`) poll it.
"""
