"""`kctl apply`: the topics and ACLs of a cluster as a file declares them."""
