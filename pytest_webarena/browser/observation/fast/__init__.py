"""The ``fast`` extractor (`extractor.FastExtractor`): a script in the page reads what is shown and ships one string."""
