"""How a `Look` is read: the order of the requests, and by subject what is asked."""

from kctl.why.gathering.gatherer import Gatherer, take_looks
from kctl.why.gathering.selection import Selection

__all__ = ["Gatherer", "Selection", "take_looks"]
