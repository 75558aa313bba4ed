"""Transactions of a producer: what its calls do, kept by the network loop.

states.py        the states, the one table of transitions, and how a transaction ends
calls.py         the calls of application threads, and the one whose work is under way
identity.py      the producer id and epoch, and whether batches may be sent under them
requests.py      the requests, and what their responses say
exchange.py      one request at a time to the coordinator, repeated until it is answered
contents.py      what the coordinator knows to be part of the transaction
offsets.py       the offsets of a group that belong to the transaction
transactions.py  the whole: states, calls and records together
"""
