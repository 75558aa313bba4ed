"""`--trace`: every frame and every connection attempt as a line on stderr, and at the end where the time went.

`spans.py` folds events into attempts and requests, `waterfall.py` draws them under the API timer, `tracer.py` is what a
command hands to its client; `trace_file.py` writes the same events as objects (`--trace-file`). Names, sizes and times
only: no payload, no credential.
"""
