"""Makes certificate authorities and certificates with the openssl command, good ones and bad ones."""

import subprocess
from pathlib import Path

_CONFIG = """
[ca]
default_ca = this
[this]
dir = {folder}
database = {folder}/index.txt
new_certs_dir = {folder}
serial = {folder}/serial
default_md = sha256
policy = any
unique_subject = no
copy_extensions = copy
[any]
commonName = supplied
"""


def openssl(*arguments: str) -> None:
    subprocess.run(["openssl", *arguments], check=True, capture_output=True, stdin=subprocess.DEVNULL)


class Authority:
    """A certificate authority in a folder of its own."""

    def __init__(self, folder: Path, name: str) -> None:
        folder.mkdir()
        self._folder = folder
        self._key = folder / "ca.key"
        self._certificate = folder / "ca.crt"
        self._config = folder / "ca.cnf"
        self._config.write_text(_CONFIG.format(folder=folder))
        (folder / "index.txt").touch()
        (folder / "serial").write_text("01")
        subject = ["-subj", f"/CN={name}", "-days", "3650"]
        new_key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", str(self._key)]
        openssl("req", "-x509", *new_key, "-out", str(self._certificate), *subject)

    @property
    def pem(self) -> str:
        return self._certificate.read_text()

    def issue(
        self,
        name: str,
        *,
        names: str = "DNS:localhost,IP:127.0.0.1,IP:::1",
        begins: str = "20200101000000Z",
        ends: str = "20900101000000Z",
        password: str | None = None,
    ) -> str:
        """Return private key and certificate as PEM; the key encrypted where there is a password."""
        stem = str(self._folder / name)
        new_key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-keyout", f"{stem}.key"]
        locked = ["-passout", f"pass:{password}"] if password is not None else ["-nodes"]
        subject = ["-subj", f"/CN={name}"] + (["-addext", f"subjectAltName={names}"] if names else [])
        openssl("req", *new_key, *locked, *subject, "-out", f"{stem}.csr")
        signer = ["-config", str(self._config), "-cert", str(self._certificate), "-keyfile", str(self._key)]
        files = ["-in", f"{stem}.csr", "-out", f"{stem}.crt", "-notext"]
        openssl("ca", "-batch", *signer, *files, "-startdate", begins, "-enddate", ends)
        return Path(f"{stem}.key").read_text() + Path(f"{stem}.crt").read_text()
