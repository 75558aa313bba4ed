"""Manual pages as roff: roff.py writes it, markdown.py reads the page of docs/ that becomes one, pages.py says what is
in which page. Nothing here has a date or a path of a machine, so that the same commands give the same bytes.
"""
