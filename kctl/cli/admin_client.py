"""The admin client of a command: its settings, and one API timeout for the whole command.

Shown by tests/sim/admin/test_commands.py.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from kctl.cli.options import Common
from kctl.client.admin import Admin
from kctl.client.config import AdminConfig


@contextmanager
def open_admin(common: Common) -> Iterator[Admin]:
    """Return an admin client, each call of which has its own API timeout unless `Admin.within` bounds several."""
    config = common.fail_fast_settings.parse(AdminConfig)
    common.note_ignored(config)
    with Admin(config, events=common.events) as admin:
        yield admin


@contextmanager
def admin_of(common: Common) -> Iterator[Admin]:
    """Return an admin client, all calls of which share the API timeout."""
    with open_admin(common) as admin, admin.within():
        yield admin
