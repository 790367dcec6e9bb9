"""The ``fast`` extractor (`extractor.FastExtractor`): a script in the page reads visible content as one string."""
