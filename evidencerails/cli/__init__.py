"""The `evidencerails` command, one file for each subcommand."""
