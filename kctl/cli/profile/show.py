"""Execution of `kctl profile list` and `show`."""

from collections.abc import Mapping

from kctl.cli.environment import Environment
from kctl.cli.exit_codes import ExitCode
from kctl.cli.formats.listing import Listing, write_listing
from kctl.cli.formats.rows import Row
from kctl.cli.login import read_written_login
from kctl.cli.options import Common
from kctl.cli.output_options import Output
from kctl.cli.profiles.choice import VARIABLE, Files, read_files
from kctl.cli.profiles.files import ProfileFile
from kctl.cli.profiles.foreign.transfer import is_reference
from kctl.cli.profiles.references import JAAS, escape
from kctl.cli.profiles.trust import is_trusted
from kctl.cli.setting import Setting
from kctl.cli.settings import ALL_KINDS, KNOWN, is_secret
from kctl.client.config import mask_urls

HIDDEN = "***"
LIST_COLUMNS = ("profile", "current", "bootstrap_servers", "security_protocol", "file")


def list_profiles(environment: Environment, output: Output) -> int:
    files = read_files(environment.environ)
    current = _current(files, environment.environ)
    rows: list[Row] = []
    for file in files.in_order():
        for name, properties in file.content.profiles.items():
            is_first = file is next(each for each in files.in_order() if name in each.content.profiles)
            rows.append(
                {
                    "profile": name,
                    "current": name == current and is_first,
                    "bootstrap_servers": mask_urls(properties.get("bootstrap.servers", "")) or None,
                    "security_protocol": properties.get("security.protocol"),
                    "file": str(file.path),
                }
            )
    write_listing(environment, output, Listing("profiles", LIST_COLUMNS, rows))
    if not rows:
        environment.say("kctl profile: no profiles found. Create one with: kctl profile create NAME -b HOST:PORT")
    if files.project is not None and not is_trusted(files.project, environment.environ):
        environment.say(
            f"kctl profile: {files.project.path} is not trusted. Read the file, then run: kctl profile trust"
        )
    return ExitCode.OK


def show_settings(common: Common, output: Output, *, origin: bool, named: str | None) -> int:
    """Print the settings that a command with the same options has.

    Args:
        origin: include defaults and sources.
        named: profile that the command line selects.
    """
    chosen = common.profile
    where = {} if chosen is None else {chosen.origin: f"{chosen.origin} ({chosen.file.path})"}
    rows: list[Row] = [
        {"property": name, "value": shown_value(name, setting), "origin": where.get(setting.origin, setting.origin)}
        for name, setting in sorted(common.settings.by_name.items())
    ]
    if origin:
        rows += [
            {"property": name, "value": text, "origin": "default"}
            for name, text in _defaults().items()
            if name not in common.settings.by_name
        ]
    columns = ("property", "value", "origin") if origin else ("property", "value")
    facts = {
        "profile": None if chosen is None else chosen.name,
        "file": None if chosen is None else str(chosen.file.path),
        "chosen_by": None if chosen is None else chosen.by,
    }
    write_listing(common.environment, output, Listing("properties", columns, rows, facts))
    if chosen is None:
        common.say("kctl profile: no profile selected: use -C NAME, $KCTL_PROFILE, or kctl profile use NAME")
    elif named is None:
        common.say(f"kctl profile: profile {chosen.name}, selected by {chosen.by}")
    return ExitCode.OK


def shown_value(name: str, setting: Setting) -> str:
    """Return a value without secrets. References to secrets are shown."""
    if not setting.value or not is_secret(name):
        return mask_urls(setting.text)
    if name == JAAS:
        return _shown_login(setting)
    return setting.text if setting.of_profile and is_reference(setting.text) else HIDDEN


def _shown_login(setting: Setting) -> str:
    written = setting.text if setting.of_profile else escape(setting.text)
    if is_reference(written):
        return setting.text
    entry = read_written_login(written)
    if entry is None:
        return HIDDEN
    options = (
        f' {name}="{value if name == "username" or is_reference(value) else HIDDEN}"'
        for name, value in entry.options.items()
    )
    return entry.module + "".join(options)


def _defaults() -> dict[str, str]:
    names = sorted({declared.name for declared in KNOWN.values()})
    found: dict[str, str] = {}
    for name in names:
        declared = next(kind.PROPERTIES[name] for kind in ALL_KINDS if name in kind.PROPERTIES)
        found[name] = declared.kind.write(declared.default)
    return found


def _current(files: Files, environ: Mapping[str, str]) -> str | None:
    asked = environ.get(VARIABLE)
    if asked is not None:
        return asked
    deciding = next((file for file in files.in_order() if _counts(file, environ)), None)
    return None if deciding is None else deciding.content.current


def _counts(file: ProfileFile, environ: Mapping[str, str]) -> bool:
    return file.content.current is not None and is_trusted(file, environ)
