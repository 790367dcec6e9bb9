"""Clean-up after processes that end for any reason: private directories, and the reaper that removes them."""
