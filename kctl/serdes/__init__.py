"""What is in keys and values: schemas, their registry, and the formats that kctl reads and writes.

Knows no command line and no Spark: `kctl consume --decode`, `kctl produce --encode` and the pipeline use it alike. Each
format's library is imported when it is first used. Shown by tests/unit/serdes/.
"""
