"""Transactions of a producer: what its calls do, kept by the network loop.

states.py        the states, and the one table of what leads from which to which
calls.py         what an application thread asks of the loop
desk.py          the application's side: checks of arguments, and waiting
requests.py      the requests, and what their answers say
exchange.py      one request at a time to the coordinator, repeated until it is answered
pending_calls.py the call under way, and who waits for it
contents.py      what the coordinator knows to be part of the transaction
offsets.py       the offsets of a group that belong to the transaction
transactions.py  the whole: states, calls and records together
"""
