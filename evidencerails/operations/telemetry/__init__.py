"""OpenTelemetry spans and metrics, Prometheus metrics, structured logs. Importing it loads none of these packages."""
