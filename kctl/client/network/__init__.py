"""From a list of nodes to ready connections and answered requests; everything in between is bounded and told."""
