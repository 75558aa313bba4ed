"""Terminal output of commands: frames, status lines, notices, and colors of tables."""
