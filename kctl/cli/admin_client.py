"""Admin clients of commands."""

from collections.abc import Iterator
from contextlib import contextmanager

from kctl.cli.options import Common
from kctl.client.admin import Admin
from kctl.client.config import AdminConfig
from kctl.client.events import Event, EventSink, ignore_events


@contextmanager
def open_admin(common: Common, also: EventSink = ignore_events) -> Iterator[Admin]:
    """Yield an admin client. Each call has its own API timeout, except calls inside `Admin.within`.

    Args: also: a second receiver of the events.
    """
    events = common.events

    def take(event: Event) -> None:
        events(event)
        also(event)

    config = common.fail_fast_settings.parse(AdminConfig)
    common.note_ignored(config)
    with Admin(config, events=events if also is ignore_events else take) as admin:
        yield admin


def half_of_rest_s(admin: Admin) -> float:
    """Return half of the remaining API timeout in seconds, so that later requests have time left."""
    return admin.remaining_ms() / 2000


@contextmanager
def admin_of(common: Common) -> Iterator[Admin]:
    """Yield an admin client whose calls share one API timeout."""
    with open_admin(common) as admin, admin.within():
        yield admin


def principal_text(config: AdminConfig) -> str:
    """Return the principal of this client in words. The configuration does not always contain its name."""
    if config.uses_sasl:
        from kctl.client.security import read_jaas  # wanted by this message alone

        jaas = config.sasl_jaas_config
        user = None if jaas is None else read_jaas(jaas).options.get("username")
        return "the authenticated user" if user is None else f"user {user}"
    return "User:ANONYMOUS" if config.ssl_keystore_location is None else "the principal of the client certificate"


def nothing_found(admin: Admin, what: str) -> str:
    """Return the notice for an empty list, which may be due to missing permissions."""
    return f"no {what} found: brokers list only {what} that {principal_text(admin.config)} may describe"


def no_offsets_found(admin: Admin) -> str:
    """Return the text for a group without committed offsets, which may be due to missing permissions."""
    return f"no committed offsets in topics that {principal_text(admin.config)} may describe"
