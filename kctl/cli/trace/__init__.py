"""Output of `--trace` and `--trace-file`: requests and connection attempts, without payloads and credentials.

`spans.py` folds events into attempts and requests, and `waterfall.py` draws them on the scale of the API timer.
`tracer.py` prints events to stderr, and `trace_file.py` writes them to a file.
"""
