"""What a session is: pure values and functions, with no I/O, no clock and no randomness."""
