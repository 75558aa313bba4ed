"""Profiles: named sets of Kafka properties in TOML files.

    current = "dev"

    [profiles.dev]
    "bootstrap.servers" = "localhost:9092"

locations.py finds the files, files.py reads them, choice.py says which profile a call uses, references.py fetches what
`${env:NAME}` stands for, edits.py changes the text and writing.py the file, trust.py keeps which project files may be
used, check.py judges, and foreign/ speaks to other tools' files. The commands are in `kctl/cli/profile`.
"""
