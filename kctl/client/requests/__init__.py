"""Requests to Kafka and their retries, shared by consumer, producer, admin client, and probe.

Nothing in the package waits or has a thread: network threads and admin calls (`admin/call.py`) poll it.
"""
