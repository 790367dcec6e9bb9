"""Client for model endpoints with OpenAI's API: retries, prices, accounting of calls, response cache."""
