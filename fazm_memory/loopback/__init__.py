"""What every server of ours on this machine's loopback shares: the guard, the token, the page's keys."""
