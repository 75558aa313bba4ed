"""Transactions of a producer, kept by the network loop.

states.py        states and the table of transitions
status.py        state, cause and end of the present transaction
calls.py         calls of application threads, and the one in progress
identity.py      producer id and epoch, and permission to send batches
requests.py      requests, and the errors in their responses
exchange.py      one request at a time to a coordinator, with retries
contents.py      contents of the transaction known to the coordinator
offsets.py       group offsets that belong to the transaction
work.py          requests of each state
transactions.py  the facade: states, calls and records together
"""
