"""The messages between the broker and its clients, as dataclasses and as JSON lines."""
