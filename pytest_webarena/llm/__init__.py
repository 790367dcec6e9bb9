"""Model endpoints that speak OpenAI's API: retries, prices, a ledger per run, a response cache."""
