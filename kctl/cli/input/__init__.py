"""What `kctl produce` reads: bytes into records, a block at a time; bad input is shown with its place and a caret."""
