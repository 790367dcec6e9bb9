"""What must be gone after any kind of death: private directories, and the reaper that removes them."""
