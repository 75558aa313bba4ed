"""Catalog of exit codes, faults and limits.

`kctl explain` prints it, tools/site_pages.py generates pages of the site, and the fault lab compares it with the output
of kctl. No I/O and no heavy imports.
"""
