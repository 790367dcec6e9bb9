"""Catalogues and tasks written for apps that exist."""
