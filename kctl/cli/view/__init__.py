"""What commands paint on a terminal: frames, status lines, notices, and the colours of tables."""
