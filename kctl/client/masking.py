"""Masking of secrets that servers repeat in errors."""

import json
import re
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Iterable, Iterator
from urllib.parse import quote

LEAST_SECRET_CHARS = 3
"""Minimum length of secrets that are masked. Shorter ones are parts of many words."""
LEAST_BASE64_CHARS = 6
MASK = "***"
_NEVER_ESCAPED = re.compile(r"[A-Za-z0-9\-._~]+")
"""Characters that neither JSON nor a URL escapes."""


def without_secrets(text: str, secrets: Iterable[str]) -> str:
    """Return the text with stars in place of secrets, including their forms in JSON, URLs, and base64.

    Mask before you shorten: the rest of a secret would remain.
    """
    for secret in sorted(secrets, key=len, reverse=True):  # one may contain another
        if len(secret) < LEAST_SECRET_CHARS:
            continue
        for form in (secret, *_in_base64(secret)):
            text = text.replace(form, MASK)
        if not _NEVER_ESCAPED.fullmatch(secret):
            text = re.sub("".join(map(_as_written, secret)), MASK, text)
    return text


def _as_written(char: str) -> str:
    if _NEVER_ESCAPED.fullmatch(char):
        return re.escape(char)
    code = ord(char)
    in_url = quote(char, safe="", errors="surrogateescape")
    forms = [json.dumps(char)[1:-1], f"\\u{code:04x}", f"\\x{code:02x}", in_url, *("+" if char == " " else "")]
    return rf"(?:\\?{re.escape(char)}|(?i:{'|'.join(map(re.escape, forms))}))"


def _in_base64(secret: str) -> Iterator[str]:
    """Yield the base64 characters that depend on the secret alone, at each distance from a multiple of three bytes."""
    data = secret.encode("utf-8", "surrogateescape")
    for before, first in enumerate((0, 2, 3)):
        end = (before + len(data)) * 8 // 6
        if end - first >= LEAST_BASE64_CHARS:
            for encode in (b64encode, urlsafe_b64encode):
                yield encode(bytes(before) + data)[first:end].decode()
