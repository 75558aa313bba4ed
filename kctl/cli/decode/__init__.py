"""Keys and values by their schemas, for consume and produce: options, and what they come to."""
