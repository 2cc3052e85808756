"""Keeps reports: written off the turn, read by service, monitor and people. Needs the extra `store`."""
