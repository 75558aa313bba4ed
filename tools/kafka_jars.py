"""The pinned kafka-clients jar (and Jackson, for its JSON converters), fetched by Maven into the cache folder.

The cache folder is $KCTL_CACHE or ~/.cache/kctl; a jar that is there is not fetched again.
"""

import os
import subprocess
import tempfile
from pathlib import Path

KAFKA_CLIENTS = "org.apache.kafka:kafka-clients:4.3.1"
JACKSON = (
    "com.fasterxml.jackson.core:jackson-databind:2.19.0",
    "com.fasterxml.jackson.core:jackson-core:2.19.0",
    "com.fasterxml.jackson.core:jackson-annotations:2.19.0",
)


def jar(coordinates: str) -> Path:
    """The path of the jar `group:artifact:version`, fetched if need be.

    Raises: subprocess.CalledProcessError: Maven could not get it. FileNotFoundError: there is no mvn.
    """
    _, artifact, version = coordinates.split(":")
    folder = Path(os.environ.get("KCTL_CACHE") or Path.home() / ".cache" / "kctl") / "protocol-jars"
    path = folder / f"{artifact}-{version}.jar"
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder) as scratch:
            goal = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy"
            subprocess.run(
                ["mvn", "-q", "-B", goal, f"-Dartifact={coordinates}", f"-DoutputDirectory={scratch}"],
                check=True,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
            )
            (Path(scratch) / path.name).replace(path)
    return path
