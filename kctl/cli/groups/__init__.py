"""kctl groups: looking, planning, changing."""
