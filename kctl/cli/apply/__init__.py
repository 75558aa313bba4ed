"""Package of `kctl apply`, which matches the topics and ACLs of a cluster to a file."""
