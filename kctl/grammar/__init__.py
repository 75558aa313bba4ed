"""Grammar of text that users write in commands, files and options: durations, offsets, properties, sizes, topics."""
