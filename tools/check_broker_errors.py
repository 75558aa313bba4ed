"""Compare kctl/client/broker_errors.py with the error table inside a released kafka-clients jar.

    python tools/check_broker_errors.py [JAR]

Without JAR, the pinned release is taken from the cache, or from Maven. Needs Java 17; exits 1 and prints every
difference in code, name, retriability, staleness of metadata or authorization.
"""

import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from kctl.client.broker_errors import AUTHORIZATION_FAILED, STALE_METADATA, ErrorCode  # noqa: E402 - found by the path above
from tools.kafka_jars import KAFKA_CLIENTS, jar  # noqa: E402 - found by the path above

SLF4J = "org.slf4j:slf4j-api:1.7.36"

DUMP = """
import org.apache.kafka.common.errors.*;
import org.apache.kafka.common.protocol.Errors;

public class DumpErrors {
    public static void main(String[] arguments) {
        for (Errors error : Errors.values()) {
            Object thrown = error.exception();
            System.out.println(String.join(" ", "" + error.code(), error.name(),
                "" + (thrown instanceof RetriableException), "" + (thrown instanceof InvalidMetadataException),
                "" + (thrown instanceof AuthorizationException)));
        }
    }
}
"""

Row = tuple[str, bool, bool, bool]


def fetch_jars() -> list[Path]:
    """Return the jars that the comparison runs on, from the cache or from Maven."""
    return [jar(KAFKA_CLIENTS), jar(SLF4J)]


def released_rows(jars: list[Path]) -> dict[int, Row]:
    """Return name, retriable, stale metadata and authorization by code, as the jar has them."""
    with TemporaryDirectory() as folder:
        source = Path(folder) / "DumpErrors.java"
        source.write_text(DUMP)
        classpath = ":".join(map(str, jars))
        dump = subprocess.run(
            ["java", "-cp", classpath, str(source)],
            check=True,
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
        )
    rows = {}
    for line in dump.stdout.splitlines():
        code, name, *facts = line.split()
        retriable, stale, forbidden = (fact == "true" for fact in facts)
        rows[int(code)] = (name, retriable, stale, forbidden)
    return rows


def our_rows() -> dict[int, Row]:
    """Return the same from our table."""
    return {
        int(code): (code.name, code.retriable, code in STALE_METADATA, code in AUTHORIZATION_FAILED)
        for code in ErrorCode
    }


def differences(ours: dict[int, Row], theirs: dict[int, Row]) -> list[str]:
    """Return one line for each code whose rows differ."""
    return [
        f"{code}: here {ours.get(code)}, released {theirs.get(code)}"
        for code in sorted({*ours, *theirs})
        if ours.get(code) != theirs.get(code)
    ]


def main() -> int:
    jars = [Path(argument) for argument in sys.argv[1:]] or fetch_jars()
    theirs = released_rows(jars)
    found = differences(our_rows(), theirs)
    for line in found:
        print(line)
    print(f"{len(theirs)} codes compared, {len(found)} differ")
    return 1 if found or not theirs else 0


if __name__ == "__main__":
    sys.exit(main())
