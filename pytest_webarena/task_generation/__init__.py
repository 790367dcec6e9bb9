"""Generates tasks: a model proposes ideas from a site's pages, two people answer them, a third one adjudicates."""
