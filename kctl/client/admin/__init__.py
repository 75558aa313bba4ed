"""Administration of a cluster: `Admin(config)`.

admin.py has the public class and `__all__` of the package, call.py one bounded call, and every resource has a file.
"""

from kctl.client.admin.admin import *  # noqa: F403 - every name of its __all__, so that a new request names it once
