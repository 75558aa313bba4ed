"""Conversion of configuration files of Java clients, librdkafka (kcat) and rpk.

`transfer.py` has the shared parts. No module opens files.
"""
