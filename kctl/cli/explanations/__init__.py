"""What each exit code, fault and limit means, in one declared catalogue: `faults.py`, `exit_codes.py`, `limits.py`.

`kctl explain`, pages of the site are made from it (tools/site_pages.py); the fault lab holds what kctl
really says against it. Data and look-up only: no I/O, no heavy import.
"""
