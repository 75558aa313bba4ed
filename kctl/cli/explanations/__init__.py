"""Catalog of exit codes, faults and limits. No I/O and no heavy imports.

`kctl explain` prints it, tools/site_pages.py generates pages from it, and the fault lab compares it with output of
kctl.
"""
