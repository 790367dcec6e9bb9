"""The tabs of a session: opening, navigating, settling, dialogs, downloads, and getting a hung one back."""
