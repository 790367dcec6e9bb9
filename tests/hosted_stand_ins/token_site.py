"""Stand-in (b): access tokens, an API, CSRF tokens in every page, a reset and slow readiness."""

from __future__ import annotations

import secrets

from .cookie_site import CookieSite
from .store import Session, Store
from .web import Reply, Request

SEEDED_TOKEN = "glpat-stand-in-token-0001"
"""A personal access token that exists in the initial state."""


class TokenSite(CookieSite):
    """One documented image that also accepts personal access tokens."""

    def token_user(self, request: Request, store: Store) -> str:
        """Return the user of the request's token, or an empty string."""
        given = request.headers.get("private-token", "")
        bearer = request.headers.get("authorization", "")
        given = given or bearer.removeprefix("Bearer ")
        if self.options.token_refused or not given:
            return ""
        if given == SEEDED_TOKEN and self.image.sign_in:
            return self.image.sign_in.username
        return store.tokens.get(given, "")

    def _head(self, session: Session | None) -> str:
        meta = super()._head(session)
        if session is None:
            return meta
        return f'<meta name="csrf-param" content="csrf"><meta name="csrf-token" content="{session.csrf}">{meta}'

    def _written(self, request: Request, store: Store, session: Session) -> Reply:
        if request.path.rstrip("/") != "/-/profile/personal_access_tokens":
            return super()._written(request, store, session)
        if request.form.get(self._form().csrf_field) != session.csrf or not session.user:
            return self._document(422, "The change you requested was rejected (422)", "", session=session)
        token = f"glpat-{secrets.token_hex(10)}"
        store.tokens[token] = session.user
        return self._document(
            200,
            "Access Tokens",
            "Your new personal access token",
            f'<input id="created-personal-access-token" value="{token}">',
            session,
        )
