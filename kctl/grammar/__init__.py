"""Grammar of text in commands, files, and options: durations, offsets, properties, sizes, topics."""
