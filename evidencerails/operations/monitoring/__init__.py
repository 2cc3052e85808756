"""Watches the stored reports: shifts of the score and changes behind them, the error budget, alerts. Off every turn."""
