"""Request managers: the network side of the consumer, one kind of question each.

A manager owns its state, does no I/O and is polled by the network loop: `poll(now)` answers with the requests to send
now and the next instant at which it wants to be asked again. Answers come back through `on_done` of each request.
Each manager decides itself what it retries.
"""

from kctl.client.consumer.fetch.manager import FetchManager
from kctl.client.consumer.managers.offsets import OffsetsManager
from kctl.client.consumer.managers.topics import TopicsManager
from kctl.client.network.in_flight import Outgoing
from kctl.client.requests.request import CallManager, Poll, RequestManager

__all__ = ["CallManager", "FetchManager", "OffsetsManager", "Outgoing", "Poll", "RequestManager", "TopicsManager"]
