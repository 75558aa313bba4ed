"""Probe: every address of every bootstrap node and of every broker that they advertise, tried to the end and judged.

`prober.py` does the rounds with the client's own connections, `report.py` is what is known of each address,
`findings.py` judges it. Nothing here prints. Shown by tests/sim/probe and tests/unit/probe.
"""
