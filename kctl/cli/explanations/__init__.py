"""What each exit code, fault and limit means, in one declared catalogue: `faults.py`, `exit_codes.py`, `limits.py`.

`kctl explain` prints it, and tools/site_pages.py makes pages of the site from it. The fault lab compares it with the
output of kctl. Data and look-up only: no I/O, no heavy import.
"""
