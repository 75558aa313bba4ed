"""Request managers: the calls and the group offsets of the consumer on the network thread.

A manager owns its state, does no I/O and is polled by the network loop: `poll(now)` returns the requests to send now,
and the next instant at which it wants to be polled. Responses come back through `on_done` of each request.
"""
