"""One trial from lease to record, and what a worker process keeps between trials."""
