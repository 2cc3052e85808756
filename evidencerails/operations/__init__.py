"""What runs around the engine: store, review, monitoring, batch and telemetry.

In: reports and settings. Out: rows, queues, alerts, files, spans. Start at `store`."""
