"""The benchmark: what we do, as ratios to floors taken in the same run on the same rows."""
