"""Administration of a cluster: `Admin(config)`. call.py has one bounded call; every resource has a file."""

from kctl.client.admin.admin import *  # noqa: F403 - every name of its __all__, so that a new request names it once
