"""What each exit code, fault and limit means, in one declared catalogue: `faults.py`, `exit_codes.py`, `limits.py`.

`kctl explain`, docs/exit-codes.md, docs/faults.md and docs/timeouts.md are made from it; the fault lab holds what kctl
really says against it. Data and look-up only: no I/O, no heavy import.
"""
