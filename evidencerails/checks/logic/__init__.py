"""What can be computed again: arithmetic, percentages, dates, orderings; and the audit of chains of reasoning."""
