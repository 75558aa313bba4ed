"""Conversion of other tools' configuration files: Java clients, librdkafka (kcat) and rpk.

`transfer.py` has the common parts. No module opens files.
"""
