"""Apps and their sites as data: manifests, the files they are read from, the keys such a file can have."""
