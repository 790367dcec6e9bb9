"""Signing in to throw-away accounts: cheap hashes, user name or e-mail address."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.backends import ModelBackend
from django.contrib.auth.hashers import PBKDF2PasswordHasher
from django.contrib.auth.models import User

__all__ = ["NameOrMail", "QuickHasher"]


class QuickHasher(PBKDF2PasswordHasher):
    """PBKDF2 with few rounds: the accounts and their passwords are printed in the documentation."""

    algorithm = "pbkdf2_sha256"
    iterations = 600

    def must_update(self, *_: Any) -> bool:
        """Never: Django would replace the seed's fixed salts at the first sign-in, and with them every session."""
        return False


class NameOrMail(ModelBackend):
    """Both halves of the store take a user name or an e-mail address."""

    def authenticate(
        self, request: Any, username: str | None = None, password: str | None = None, **kwargs: Any
    ) -> User | None:
        """The account, or None when name or password is wrong."""
        name = username or kwargs.get("email") or ""
        if "@" in name:
            found = User.objects.filter(email__iexact=name).first()
            name = found.username if found is not None else ""
        account: User | None = super().authenticate(request, username=name, password=password)
        return account
