"""The parts of the check `structure`; start at `check`."""
