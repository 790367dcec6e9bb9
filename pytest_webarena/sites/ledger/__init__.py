"""What an app holds at one moment, and what differs between two: rows of SQLite databases, and files beside them."""
