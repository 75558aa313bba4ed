"""Name and version of the distribution, for package metadata, `kctl --version` and hints."""

VERSION = "0.1.0"
DISTRIBUTION = "kctl-kafka"


def install_command(extra: str) -> str:
    return f"pip install '{DISTRIBUTION}[{extra}]'"
