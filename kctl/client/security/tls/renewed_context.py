"""RenewedContext: the TLS context of a client, made again when its certificate files have changed.

New connections use the new files; open ones keep theirs. Shown by tests/unit/security/test_renewed_context.py.
"""

import logging
import os
from typing import TYPE_CHECKING

from kctl.client.config import ClientConfig
from kctl.client.errors import ConfigError
from kctl.client.security.tls.settings import TlsSettings

if TYPE_CHECKING:
    import ssl

logger = logging.getLogger("kctl.client.security")

Stamp = tuple[tuple[int, int, int] | None, ...]
"""Inode, size and time of change of each file; None for one that cannot be looked at."""


class RenewedContext:
    """Attributes: context: for new connections; replaced as a whole, so any thread may read it."""

    def __init__(self, config: ClientConfig) -> None:
        """Raises: ConfigError: a property or a file is wrong."""
        self._config = config
        places = (config.ssl_truststore_location, config.ssl_keystore_location)
        self._paths = [path for path in places if path is not None]
        self._stamp = self._look()
        self.context: ssl.SSLContext = TlsSettings.from_config(config).context()

    @property
    def has_files(self) -> bool:
        return bool(self._paths)

    def refresh(self) -> None:
        """Read the files again if they have changed; may block. What is half-written or wrong leaves all as it was."""
        stamp = self._look()
        if stamp == self._stamp:
            return
        try:
            self.context = TlsSettings.from_config(self._config).context()
        except ConfigError as error:
            logger.warning("changed certificates are not used: %s", error)
        else:
            self._stamp = stamp

    def _look(self) -> Stamp:
        return tuple(map(_stamp_of, self._paths))


def _stamp_of(path: str) -> tuple[int, int, int] | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns
