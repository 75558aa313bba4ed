"""What `kctl produce` reads: bytes into records, one at a time; bad input is shown with record, byte and caret."""
