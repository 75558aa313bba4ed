"""Profiles: named sets of Kafka properties in TOML files.

    current = "dev"

    [profiles.dev]
    "bootstrap.servers" = "localhost:9092"

The commands are in `kctl/cli/profile`.
"""
