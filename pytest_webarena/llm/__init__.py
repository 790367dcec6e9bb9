"""Client for the model APIs of OpenAI, Anthropic and Google: retries, prices, accounting of calls, response cache."""
