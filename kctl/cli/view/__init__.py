"""What `probe` shows: events folded into a state, the state drawn. Pure: no I/O, time is handed in."""
