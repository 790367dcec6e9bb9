"""Apps and their sites as data: manifests, the files they are read from, and the keys of such files."""
