"""Administration of a cluster: `Admin(config)`. call.py makes one call with a timeout; other files are by resource."""

from kctl.client.admin.admin import *  # noqa: F403 - every name of its __all__, so that a new request names it once
