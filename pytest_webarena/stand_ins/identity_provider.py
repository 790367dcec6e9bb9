"""An OpenID Connect provider for the accounts of an app: authorization code flow, with or without PKCE.

Browsers visit it at its site; the app asks it at its own port. Both get the same issuer, the site's address.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import html
import json
import secrets
import time
from http.cookies import SimpleCookie
from http.server import ThreadingHTTPServer
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlencode, urlsplit

from pytest_webarena.stand_ins import Handler, page, settings

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey

__all__ = ["IdentityProvider", "identity_provider_server", "main"]

_CODE_SECONDS = 60
_TOKEN_SECONDS = 3600
_COOKIE = "identity"
_KEY_ID = "stand-in"
_FORM = """<form method="post" action="/login?{query}">
<p><label>Username <input name="username" autocomplete="username"></label></p>
<p><label>Password <input name="password" type="password" autocomplete="current-password"></label></p>
<p><button>Sign in</button></p>
</form>"""


class IdentityProvider:
    """Accounts, codes and tokens. It accepts every client, because it is test data for one app alone."""

    def __init__(self, issuer: str, users: dict[str, str]) -> None:
        from cryptography.hazmat.primitives.asymmetric import rsa  # late: it is slow to import

        self.issuer = issuer
        self._users = users
        self._key: RSAPrivateKey = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        self._codes: dict[str, dict[str, str]] = {}
        self._tokens: dict[str, dict[str, str]] = {}
        # Sessions hold on every replica: the key depends only on what all replicas share.
        self._session_key = hashlib.sha256(json.dumps([issuer, sorted(users.items())]).encode()).digest()

    def session(self, user: str) -> str:
        """Return the value of the cookie with which ``user`` is signed in."""
        signature = hmac.digest(self._session_key, user.encode(), "sha256")
        return f"{_encoded(user.encode())}.{_encoded(signature)}"

    def user_of(self, cookies: str) -> str:
        """Return the user that the ``Cookie`` field signs in; empty for none."""
        given = SimpleCookie(cookies).get(_COOKIE)
        name = given.value.partition(".")[0] if given is not None else ""
        for user in self._users:
            if given is not None and name == _encoded(user.encode()):
                return user if hmac.compare_digest(self.session(user), given.value) else ""
        return ""

    def accepts(self, user: str, password: str) -> bool:
        """Whether a password is the account's."""
        return user in self._users and hmac.compare_digest(self._users[user].encode(), password.encode())

    def code(self, user: str, query: dict[str, str]) -> str:
        """Return a code for one exchange."""
        code = secrets.token_urlsafe(24)
        self._codes[code] = {**query, "user": user, "until": str(time.time() + _CODE_SECONDS)}
        return code

    def exchange(self, form: dict[str, str], client: str) -> dict[str, Any] | None:
        """Return tokens for a code; None if it is not valid for this request."""
        asked = self._codes.pop(form.get("code", ""), None)
        if asked is None or float(asked["until"]) < time.time() or form.get("grant_type") != "authorization_code":
            return None
        if asked["client_id"] != client or asked["redirect_uri"] != form.get("redirect_uri"):
            return None
        if not _proves(asked.get("code_challenge", ""), asked.get("code_challenge_method", ""), form):
            return None
        token, now = secrets.token_urlsafe(24), int(time.time())
        claims = self.claims(asked["user"])
        self._tokens[token] = claims
        given = {"iss": self.issuer, "aud": client, "iat": now, "exp": now + _TOKEN_SECONDS, **claims}
        if asked.get("nonce"):
            given["nonce"] = asked["nonce"]
        return {
            "access_token": token,
            "token_type": "Bearer",
            "expires_in": _TOKEN_SECONDS,
            "scope": asked.get("scope", "openid"),
            "id_token": self._signed(given),
        }

    @staticmethod
    def claims(user: str) -> dict[str, str]:
        """Return what a token says of a user."""
        email = user if "@" in user else f"{user}@example.com"
        return {"sub": user, "name": user, "preferred_username": user, "email": email}

    def claims_of_token(self, authorization: str) -> dict[str, str] | None:
        """Return the claims for an ``Authorization`` field; None for an unknown token."""
        return self._tokens.get(authorization.removeprefix("Bearer "))

    def _signed(self, claims: dict[str, Any]) -> str:
        from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
        from cryptography.hazmat.primitives.hashes import SHA256

        head = {"alg": "RS256", "typ": "JWT", "kid": _KEY_ID}
        body = ".".join(_encoded(json.dumps(part).encode()) for part in (head, claims))
        return f"{body}.{_encoded(self._key.sign(body.encode(), PKCS1v15(), SHA256()))}"

    def keys(self) -> dict[str, Any]:
        """Return the public key as a JSON web key set."""
        numbers = self._key.public_key().public_numbers()
        n, e = (_encoded(value.to_bytes((value.bit_length() + 7) // 8)) for value in (numbers.n, numbers.e))
        return {"keys": [{"kty": "RSA", "use": "sig", "alg": "RS256", "kid": _KEY_ID, "n": n, "e": e}]}

    def metadata(self, own: str) -> dict[str, Any]:
        """Return the discovery document; ``own`` is the address at which the app asks."""
        return {
            "issuer": self.issuer,
            "authorization_endpoint": f"{self.issuer}/authorize",
            "end_session_endpoint": f"{self.issuer}/logout",
            "token_endpoint": f"{own}/token",
            "userinfo_endpoint": f"{own}/userinfo",
            "jwks_uri": f"{own}/keys",
            "response_types_supported": ["code"],
            "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": ["RS256"],
            "code_challenge_methods_supported": ["S256", "plain"],
            "scopes_supported": ["openid", "profile", "email"],
            "token_endpoint_auth_methods_supported": ["client_secret_basic", "client_secret_post", "none"],
        }


def _proves(challenge: str, method: str, form: dict[str, str]) -> bool:
    """Whether a PKCE verifier fits the challenge; true without a challenge (RFC 7636)."""
    verifier = form.get("code_verifier", "")
    digest = _encoded(hashlib.sha256(verifier.encode()).digest()) if method == "S256" else verifier
    return not challenge or hmac.compare_digest(digest.encode(), challenge.encode())


def _encoded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def _single(query: str) -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs(query, keep_blank_values=True).items()}


def identity_provider_server(provider: IdentityProvider, port: int) -> ThreadingHTTPServer:
    """Return the server of the provider on ``port`` of 127.0.0.1."""

    class ProviderHandler(Handler):
        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            query = _single(parts.query)
            own = f"http://127.0.0.1:{server.server_port}"
            if parts.path == "/.well-known/openid-configuration":
                self.answer_json(provider.metadata(own))
            elif parts.path == "/keys":
                self.answer_json(provider.keys())
            elif parts.path == "/authorize":
                self._authorize(query, parts.query)
            elif parts.path == "/userinfo":
                claims = provider.claims_of_token(self.headers.get("Authorization", ""))
                self.answer_json(claims or {"error": "invalid_token"}, status=200 if claims else 401)
            elif parts.path == "/logout":
                self._redirect(query.get("post_logout_redirect_uri", "/"), f"{_COOKIE}=; Path=/; Max-Age=0")
            elif parts.path == "/":
                user = provider.user_of(self.headers.get("Cookie", ""))
                self.answer(page("Identity provider", f"<p>Signed in as {html.escape(user) or 'nobody'}.</p>"))
            else:
                self.not_found()

        def do_POST(self) -> None:
            parts = urlsplit(self.path)
            form = _single(self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode("utf-8", "replace"))
            if parts.path == "/token":
                tokens = provider.exchange(form, self._client() or form.get("client_id", ""))
                self.answer_json(tokens or {"error": "invalid_grant"}, status=200 if tokens else 400)
            elif parts.path == "/login":
                user = form.get("username", "")
                if provider.accepts(user, form.get("password", "")):
                    self._redirect(f"/authorize?{parts.query}", f"{_COOKIE}={provider.session(user)}; Path=/; HttpOnly")
                else:
                    self._form(parts.query, "<p>Wrong username or password.</p>")
            else:
                self.not_found()

        def _authorize(self, query: dict[str, str], given: str) -> None:
            target = query.get("redirect_uri", "")
            if query.get("response_type") != "code" or not query.get("client_id") or not target.startswith("http"):
                why = "<p>Expected response_type=code, client_id and redirect_uri.</p>"
                self.answer(page("Bad request", why), status=400)
                return
            user = provider.user_of(self.headers.get("Cookie", ""))
            state = {"state": query["state"]} if "state" in query else {}
            joint = "&" if urlsplit(target).query else "?"
            if user and query.get("prompt") != "login":
                self._redirect(f"{target}{joint}{urlencode({'code': provider.code(user, query), **state})}")
            elif query.get("prompt") == "none":
                self._redirect(f"{target}{joint}{urlencode({'error': 'login_required', **state})}")
            else:
                self._form(urlencode({name: value for name, value in _single(given).items() if name != "prompt"}), "")

        def _form(self, query: str, note: str) -> None:
            self.answer(page("Sign in", note + _FORM.format(query=html.escape(query))))

        def _client(self) -> str:
            """The client that HTTP Basic authentication names; empty for none."""
            scheme, _, given = self.headers.get("Authorization", "").partition(" ")
            try:
                return base64.b64decode(given).decode().partition(":")[0] if scheme == "Basic" else ""
            except ValueError:
                return ""

        def _redirect(self, target: str, cookie: str = "") -> None:
            target = target.replace("\r", "").replace("\n", "")
            self.answer("", status=302, Location=target, **({"Set_Cookie": cookie} if cookie else {}))

    server = ThreadingHTTPServer(("127.0.0.1", port), ProviderHandler)
    return server


def main() -> None:
    """Serve until the process is killed."""
    given = settings()
    identity_provider_server(IdentityProvider(given["url"], given["users"]), given["port"]).serve_forever()


if __name__ == "__main__":
    main()
