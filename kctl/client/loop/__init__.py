"""Client loop: cooperation of application threads and network thread, shared by all clients.

Clients differ in their events, and in the request managers that the loop polls.
"""
