"""Start of the kctl binary: undo what PyInstaller's loader does to the environment, then run the command line."""

import os
import sys
from collections.abc import MutableMapping

CERTIFICATES = (
    "/etc/ssl/certs/ca-certificates.crt",  # Debian, Alpine, Arch
    "/etc/pki/tls/certs/ca-bundle.crt",  # Fedora, RHEL
    "/etc/ssl/ca-bundle.pem",  # SUSE
)
"""Trusted certificates of a system; OpenSSL in the binary knows the path of the machine that built it."""


def prepare(environ: MutableMapping[str, str]) -> None:
    """Restore the library path for programs that kctl starts, and set the trusted certificates of the system."""
    before = environ.pop("LD_LIBRARY_PATH_ORIG", None)
    if before is not None:
        environ["LD_LIBRARY_PATH"] = before
    else:
        environ.pop("LD_LIBRARY_PATH", None)
    if "SSL_CERT_FILE" not in environ and (found := next(filter(os.path.exists, CERTIFICATES), None)) is not None:
        environ["SSL_CERT_FILE"] = found


if __name__ == "__main__":
    prepare(os.environ)
    from kctl.__main__ import main

    sys.exit(main())
