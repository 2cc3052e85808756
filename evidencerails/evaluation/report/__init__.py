"""What a run looks like to people: an HTML page that stands alone, Markdown, a table on the terminal."""
