"""Catalog of exit codes, faults and limits. No I/O and no heavy imports.

Source of `kctl explain` and pages of the site; the fault lab compares it with output of kctl.
"""
