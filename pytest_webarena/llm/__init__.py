"""Client for model endpoints of OpenAI's, Anthropic's and Google's APIs: retries, prices, accounting of calls, response cache."""
