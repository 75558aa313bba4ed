"""Execution of `kctl profile check`, and the check before profiles are written."""

from collections.abc import Mapping, Sequence

from kctl.cli.environment import Environment
from kctl.cli.exit_codes import ExitCode
from kctl.cli.failures import CommandError
from kctl.cli.formats.listing import Listing, write_listing
from kctl.cli.formats.rows import Row
from kctl.cli.output_options import Output
from kctl.cli.profiles.check import Level, ProfileFinding, check_profile
from kctl.cli.profiles.choice import no_such_profile, read_files
from kctl.cli.profiles.files import Content, ProfileFile
from kctl.cli.profiles.references import Sources
from kctl.cli.profiles.store import Store
from kctl.client.wording import counted

PRIVATE = 0o600
COLUMNS = ("profile", "level", "property", "finding")


def check_profiles(environment: Environment, names: Sequence[str], output: Output, *, strict: bool) -> int:
    """Print the problems of profiles. Return 2 for errors, 3 for warnings if `strict`, otherwise 0.

    Args: names: profiles; empty for all.
    """
    files = read_files(environment.environ)
    for name in names:
        if name not in files.names():
            raise no_such_profile(name, "", files)
    rows: list[Row] = []
    levels: list[Level] = []
    checked = 0
    for file in files.in_order():
        current = file.content.current
        if not names and current is not None and current not in files.names():
            levels.append(Level.ERROR)
            rows.append(
                _row(
                    current,
                    ProfileFinding(
                        Level.ERROR, None, f"{file.path} sets this current profile, but the profile does not exist"
                    ),
                )
            )
        for name in file.content.profiles:
            if names and name not in names:
                continue
            checked += 1
            for finding in check_profile(name, file, _sources(environment, file)):
                levels.append(finding.level)
                rows.append(_row(name, finding))
    write_listing(environment, output, Listing("findings", COLUMNS, rows))
    count = {level: levels.count(level) for level in Level}
    found = ", ".join(counted(number, level.value) for level, number in count.items() if number)
    environment.say(f"kctl profile: {counted(checked, 'profile')} checked: {found or 'no problems found'}")
    if count[Level.ERROR]:
        return ExitCode.USAGE
    return ExitCode.PARTIAL_FAILURE if strict and count[Level.WARNING] else ExitCode.OK


def findings_of(
    name: str, properties: Mapping[str, str], store: Store, environment: Environment
) -> list[ProfileFinding]:
    """Return the problems of a profile, as if it were in the file of `store`. Files that it names are not opened."""
    content = Content(None, {name: properties})
    file = ProfileFile(store.path, b"", PRIVATE, content, store.is_project)
    return check_profile(name, file, _sources(environment, file), opens=False)


def refuse_errors(findings: Sequence[ProfileFinding], where: str) -> None:
    errors = [finding for finding in findings if finding.level is Level.ERROR]
    if errors:
        text = errors[0].text
        said = text if errors[0].key is None or errors[0].key in text else f"{errors[0].key}: {text}"
        raise CommandError(ExitCode.USAGE, f"cannot save {where}: {said}")


def _sources(environment: Environment, file: ProfileFile) -> Sources:
    return Sources(environment.environ, file.path.parent, environment.clock)


def _row(name: str, finding: ProfileFinding) -> Row:
    return {"profile": name, "level": finding.level.value, "property": finding.key, "finding": finding.text}
