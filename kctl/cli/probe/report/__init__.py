"""Package of `kctl probe report`: timeouts, latencies and certificates from saved probe and trace files.

`reading.py` reads files into bounded `statistics.py`; `timeouts.py` and `result.py` compute the report; `view.py`
prints it.
"""
