"""What comes in: hooks, records, lines and file events, scrubbed before anything durable."""
