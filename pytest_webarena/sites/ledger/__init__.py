"""The data of an app at one moment, and the differences between two: rows of SQLite databases, and other files."""
