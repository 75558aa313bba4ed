"""Output of `--trace` and `--trace-file`: requests and connection attempts, without payloads and credentials."""
