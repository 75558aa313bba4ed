"""What is in keys and values: schemas, their registry, and the formats that kctl reads and writes.

Knows no command line: `kctl consume --decode`, `kctl produce --encode` and `kctl schemas` use it. Each format's library
is imported when it is first used.
"""
