"""What the broker and its clients say to each other, as dataclasses and as JSON lines."""
