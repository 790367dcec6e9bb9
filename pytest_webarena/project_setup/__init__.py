"""Writes catalogues and first tasks for apps that exist: started by a command, described by a Compose file, or running
at an address."""
