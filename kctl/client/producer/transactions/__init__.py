"""Transactions of a producer, on the network loop.

    states.py        states and transitions
    status.py        state, cause, and outcome
    calls.py         calls of application threads
    identity.py      producer id and epoch
    requests.py      requests and response errors
    exchange.py      one request at a time to a coordinator
    contents.py      partitions and groups that the coordinator knows
    offsets.py       group offsets
    work.py          requests of each state

transactions.py is the facade.
"""
