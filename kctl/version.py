"""The one place of the version: the package metadata and `kctl --version` both read it."""

VERSION = "0.1.0"
