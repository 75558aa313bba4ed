"""Requests: each conversation with Kafka once, for the consumer, the producer, the admin client and the probe.

request.py           what a manager returns when it is polled: requests to send, and when to poll it again
retry.py             the one table of what is retried, where, and after which pause
items.py             the items of a response, each of which has to be there once
find_coordinator.py  the FindCoordinator request and its response
leaders.py           the leaders of partitions, as the metadata has them
list_offsets.py      the ListOffsets request and its response
group_offsets.py     OffsetFetch, OffsetCommit and OffsetDelete, and what their responses say
leave_group.py       the LeaveGroup request and its response
producer_id.py       the InitProducerId request and its response
topics.py            the Metadata request about topics and its response
coordinator.py       the coordinator of a group or a transactional.id, and the connections to it

Nothing here waits or has a thread. The network threads of the consumer and the producer poll, and so does the private
loop of an admin call (`admin/call.py`); what is polled returns the requests to send and the next instant at which
it wants to be polled.
"""
