"""`kctl probe report`: latencies, timeouts and certificates from saved probe and trace files.

`reading.py` reads files line by line (`lines.py` checks fields) into bounded `statistics.py`; `timeouts.py` and
`result.py` compute the report, `view.py` lays it out.
"""
