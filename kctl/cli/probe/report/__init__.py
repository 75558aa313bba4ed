"""Package of `kctl probe report`: timeouts, latencies and certificates from saved probe and trace files."""
