"""What users write in options, one grammar a file."""
