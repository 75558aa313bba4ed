"""The admin client of a command: its settings, and one API timeout for the whole command."""

from collections.abc import Iterator
from contextlib import contextmanager

from kctl.cli.options import Common
from kctl.client.admin import Admin
from kctl.client.config import AdminConfig
from kctl.client.events import Event, EventSink, ignore_events


@contextmanager
def open_admin(common: Common, also: EventSink = ignore_events) -> Iterator[Admin]:
    """Return an admin client, each call of which has its own API timeout unless `Admin.within` bounds several.

    Args: also: takes the events, too.
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
    """Return half of the time that is left, for one round of requests that other rounds follow."""
    return admin.remaining_ms() / 2000


@contextmanager
def admin_of(common: Common) -> Iterator[Admin]:
    """Return an admin client, all calls of which share the API timeout."""
    with open_admin(common) as admin, admin.within():
        yield admin
