"""Files by which package managers install the binary of a release: Homebrew formula, krew manifest, scoop manifest, and
Nix flake, all from the table of archives and the checksums of the release.

    python tools/channels.py --home URL --sums build/binary/SHA256SUMS --out build/channels

URL is the page of the repository. An archive without a checksum is left out. Exits with 1 if no archive is left.
"""

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from kctl.version import VERSION

SUMMARY = "Command-line tool for Apache Kafka"
DETAILS = (
    "Produce and consume records, manage topics, groups, and access, test connections step by step, "
    "and find the causes of failures."
)
LICENSE = "Apache-2.0"


class Archive(NamedTuple):
    """An archive of the binary, and the names of its system and processor.

    Attributes:
        runner: the machine of the release workflow that builds it.
        debian: the architecture of the Debian package, empty if the machine builds none.
        krew: system and processor in krew's manifest, empty if kubectl plugins are not for this archive.
        brew: the blocks of a formula, empty if Homebrew does not run there.
        nix: the system of a flake, empty if Nix does not run there.
    """

    platform: str
    end: str
    runner: str
    krew: tuple[str, str] | tuple[()] = ()
    brew: tuple[str, str] | tuple[()] = ()
    nix: str = ""
    debian: str = ""

    @property
    def name(self) -> str:
        return f"{self._stem}{self.end}"

    @property
    def one_file(self) -> str:
        return f"{self._stem}.exe" if self.platform.startswith("windows") else self._stem

    @property
    def bill(self) -> str:
        return f"{self._stem}.sbom.json"

    @property
    def deb(self) -> str | None:
        return f"kctl_{VERSION}_{self.debian}.deb" if self.debian else None

    @property
    def files(self) -> list[str]:
        """Names of all files that the machine builds with the archive."""
        return [self.name, self.one_file, self.bill, *([self.deb] if self.deb else [])]

    @property
    def _stem(self) -> str:
        return f"kctl-{VERSION}-{self.platform}"


_X86 = Archive(
    "linux-x86_64", ".tar.gz", "ubuntu-24.04", ("linux", "amd64"), ("linux", "intel"), "x86_64-linux", "amd64"
)
_ARM = Archive(
    "linux-arm64", ".tar.gz", "ubuntu-24.04-arm", ("linux", "arm64"), ("linux", "arm"), "aarch64-linux", "arm64"
)
_MAC = Archive("macos-arm64", ".tar.gz", "macos-15", ("darwin", "arm64"), ("macos", "arm"), "aarch64-darwin")
_WINDOWS = Archive("windows-x86_64", ".zip", "windows-2025")
ARCHIVES = (_X86, _ARM, _MAC, _WINDOWS)
_SYSTEMS = {"linux": "linux", "darwin": "macos", "win32": "windows"}
_PROCESSORS = {"x86_64": "x86_64", "amd64": "x86_64", "aarch64": "arm64", "arm64": "arm64"}


def archive_of(system: str, machine: str) -> Archive:
    """Return the archive for a system and a processor, as `sys.platform` and `platform.machine()` name them."""
    name = f"{_SYSTEMS.get(system, system)}-{_PROCESSORS.get(machine.lower(), machine.lower())}"
    return next((archive for archive in ARCHIVES if archive.platform == name), Archive(name, ".tar.gz", ""))


class Release(NamedTuple):
    """A release: the page of the repository, and the checksums of the files by name."""

    home: str
    sums: Mapping[str, str]

    @property
    def archives(self) -> list[Archive]:
        return [archive for archive in ARCHIVES if archive.name in self.sums]

    def url(self, archive: Archive) -> str:
        return f"{self.home}/releases/download/v{VERSION}/{archive.name}"


def read_sums(text: str) -> dict[str, str]:
    """Return the checksums by file name. Raises: ValueError: a line is not a SHA-256 checksum and a name."""
    found = {}
    for number, line in enumerate(text.splitlines(), 1):
        digest, _, name = line.partition("  ")
        if len(digest) != 64 or not set(digest) <= set("0123456789abcdef") or not name or "/" in name:
            raise ValueError(f"line {number}: expected a SHA-256 checksum, two spaces, and a file name: {line!r}")
        found[name] = digest
    return found


def formula(release: Release) -> str:
    """Return the Homebrew formula."""
    blocks = "".join(
        f"""
  on_{archive.brew[0]} do
    on_{archive.brew[1]} do
      url "{release.url(archive)}"
      sha256 "{release.sums[archive.name]}"
    end
  end
"""
        for archive in release.archives
        if archive.brew
    )
    return f"""class Kctl < Formula
  desc "{SUMMARY}"
  homepage "{release.home}"
  version "{VERSION}"
  license "{LICENSE}"
{blocks}
  def install
    man1.install Dir["share/man/man1/*"]
    man7.install Dir["share/man/man7/*"]
    bash_completion.install "share/bash-completion/completions/kctl"
    zsh_completion.install "share/zsh/site-functions/_kctl"
    fish_completion.install "share/fish/vendor_completions.d/kctl.fish"
    libexec.install "kctl", "lib", "licenses", "sbom.json"
    bin.install_symlink libexec/"kctl"
  end

  test do
    assert_equal "kctl #{{version}}\\n", shell_output("#{{bin}}/kctl --version")
  end
end
"""


def krew_manifest(release: Release) -> str:
    """Return the manifest of a kubectl plugin. JSON strings are YAML strings."""
    platforms = "".join(
        f"""    - selector:
        matchLabels:
          os: {archive.krew[0]}
          arch: {archive.krew[1]}
      uri: {json.dumps(release.url(archive))}
      sha256: {json.dumps(release.sums[archive.name])}
      bin: kctl/kctl
"""
        for archive in release.archives
        if archive.krew
    )
    return f"""apiVersion: krew.googlecontainertools.github.com/v1alpha2
kind: Plugin
metadata:
  name: kctl
spec:
  version: v{VERSION}
  homepage: {json.dumps(release.home)}
  shortDescription: {SUMMARY}
  description: |
    {DETAILS}
  platforms:
{platforms}"""


def scoop_manifest(release: Release) -> str:
    """Return the manifest of scoop, for Windows."""
    [archive] = (archive for archive in release.archives if archive.platform.startswith("windows"))
    source = {"url": release.url(archive), "hash": release.sums[archive.name]}
    manifest = {
        "version": VERSION,
        "description": SUMMARY,
        "homepage": release.home,
        "license": LICENSE,
        "architecture": {"64bit": source},
        "extract_dir": "kctl",
        "bin": "kctl.exe",
    }
    return json.dumps(manifest, indent=4) + "\n"


def flake(release: Release) -> str:
    """Return the Nix flake."""
    sources = "".join(
        f"""        {archive.nix} = {{
          url = "{release.url(archive)}";
          sha256 = "{release.sums[archive.name]}";
        }};
"""
        for archive in release.archives
        if archive.nix
    )
    return f"""{{
  description = "{SUMMARY}";

  inputs.nixpkgs.url = "nixpkgs/nixos-unstable";

  outputs =
    {{ self, nixpkgs }}:
    let
      sources = {{
{sources}      }};
      build =
        system:
        let
          pkgs = nixpkgs.legacyPackages.${{system}};
          inherit (pkgs) lib stdenv;
        in
        stdenv.mkDerivation {{
          pname = "kctl";
          version = "{VERSION}";
          src = pkgs.fetchurl sources.${{system}};
          nativeBuildInputs = lib.optionals stdenv.isLinux [ pkgs.autoPatchelfHook ];
          buildInputs = lib.optionals stdenv.isLinux [
            pkgs.zlib
            stdenv.cc.cc.lib
          ];
          # strip would remove the archive of modules at the end of the program.
          dontStrip = true;
          installPhase = ''
            mkdir -p $out/libexec $out/bin
            cp -R . $out/libexec/kctl
            mv $out/libexec/kctl/share $out/share
            ln -s ../libexec/kctl/kctl $out/bin/kctl
          '';
          meta = {{
            description = "{SUMMARY}";
            homepage = "{release.home}";
            license = lib.licenses.asl20;
            mainProgram = "kctl";
            platforms = builtins.attrNames sources;
          }};
        }};
    in
    {{
      packages = builtins.mapAttrs (system: _: {{ default = build system; }}) sources;
    }};
}}
"""


def write_channels(release: Release, out: Path) -> list[Path]:
    """Write the files for which the release has archives, and return their paths."""
    texts = {}
    if any(archive.brew for archive in release.archives):
        texts["kctl.rb"] = formula(release)
    if any(archive.krew for archive in release.archives):
        texts["kctl.yaml"] = krew_manifest(release)
    if any(archive.nix for archive in release.archives):
        texts["flake.nix"] = flake(release)
    if any(archive.platform.startswith("windows") for archive in release.archives):
        texts["kctl.json"] = scoop_manifest(release)
    out.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        (out / name).write_text(text)
    return [out / name for name in texts]


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--home", required=True)
    parser.add_argument("--sums", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args(arguments)
    try:
        written = write_channels(Release(options.home.rstrip("/"), read_sums(options.sums.read_text())), options.out)
    except (OSError, ValueError) as e:
        print(f"channels: cannot read {options.sums}: {e}")
        return 1
    if not written:
        print(f"channels: {options.sums} has no archive of kctl {VERSION}")
        return 1
    print(*written, sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
