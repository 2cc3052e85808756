"""The `groundrails` command, one file for each subcommand."""
