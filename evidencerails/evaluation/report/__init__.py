"""What a run looks like to people: an HTML page, Markdown, a table on the terminal."""
