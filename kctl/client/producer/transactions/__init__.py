"""Transactions of a producer, kept by the network loop.

states.py        states and transitions
status.py        state, cause and end of the present transaction
calls.py         calls of application threads
identity.py      producer id and epoch, and permission to send batches
requests.py      requests and response errors
exchange.py      one request at a time to a coordinator
contents.py      contents known to the coordinator
offsets.py       group offsets of the transaction
work.py          requests of each state
transactions.py  facade
"""
