"""Client loop: cooperation of application threads and network thread, shared by all clients.

mailbox.py      events and calls of application threads, and wake-ups of both sides
client_loop.py  one turn of the network thread: apply events, poll the managers, wait
close.py        close sequence of every client

Clients differ in their events and in the managers that the loop polls.
"""
