"""The client loop: how application threads and the network thread of a client work together, written once.

mailbox.py      the events and calls of application threads, and how the two sides wake each other
client_loop.py  one turn of the network thread: take events, poll the managers, wait for I/O or the next deadline
close.py        the close sequence of every client, step by step

What differs between clients is the events they post and the managers that their loop polls.
"""
