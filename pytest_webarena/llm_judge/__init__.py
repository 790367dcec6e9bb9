"""The LLM judge: how it is asked, how its replies are read and kept, and how good it is."""
