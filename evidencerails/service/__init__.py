"""The HTTP service (extra `service`). Importing this package loads neither FastAPI nor uvicorn."""
