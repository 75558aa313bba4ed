"""`kctl pipeline report`: what many probe and trace files of a fleet say, and which limits each place should use.

`job.py` runs it; `files.py` finds files and their places; `folding.py` reads one file into a `Fleet` (`fleet.py`), and
two fleets make one, so that the same code serves one process and many. `limits.py` has the method, `findings.py` what
is worth telling, `result.py` the values; `page.py` and `plots.py` show them, and so does
`kctl/cli/pipeline/report_table.py`. docs/pipeline-report.md.
"""
