"""What goes out: digests, briefings and the context file, from facts only."""
