"""Transactions of a producer, kept by the network loop.

states.py        states and transitions
status.py        state, cause and end
calls.py         calls of application threads
identity.py      producer id and epoch
requests.py      requests and response errors
exchange.py      one request at a time to a coordinator
contents.py      contents known to the coordinator
offsets.py       group offsets
work.py          requests of each state
transactions.py  facade
"""
