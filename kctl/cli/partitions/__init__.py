"""`kctl partitions`: which brokers have which partitions, and how that is changed."""
