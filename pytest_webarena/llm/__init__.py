"""Model endpoints that speak OpenAI's API: retries, prices, the calls of each run, a response cache."""
