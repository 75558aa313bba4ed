"""kctl: consume, produce and diagnose Kafka, each call bounded by the deadline its user gave."""
