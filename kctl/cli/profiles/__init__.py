"""Profiles: named sets of Kafka properties in TOML files.

    current = "dev"
    [profiles.dev]
    "bootstrap.servers" = "localhost:9092"

`locations.py` finds the files, `files.py` reads them, and `choice.py` selects the profile. `references.py` resolves
`${env:NAME}`, `edits.py` and `writing.py` change files, `trust.py` stores trusted project files, `check.py` finds
mistakes, and `foreign/` converts files of other tools. The commands are in `kctl/cli/profile`.
"""
