"""kctl profile: looking at profiles, changing them, and taking them from and to other tools."""
