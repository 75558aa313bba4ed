"""Reading of a `Look`: the requests for each subject, and their order."""

from kctl.why.gathering.gatherer import Gatherer, take_looks
from kctl.why.gathering.selection import Selection

__all__ = ["Gatherer", "Selection", "take_looks"]
