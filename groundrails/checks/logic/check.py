"""Logic: what can be computed again, is."""
