"""Tabs of a session: opening, navigation, settling, dialogs, downloads, and recovery of hung pages."""
