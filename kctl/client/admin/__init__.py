"""Administration of a cluster: `Admin(config)`.

admin.py is the face, and its `__all__` is that of the package; call.py is one bounded call; then one file a resource.
"""

from kctl.client.admin.admin import *  # noqa: F403 - every name of its __all__, so that a new request names it once
