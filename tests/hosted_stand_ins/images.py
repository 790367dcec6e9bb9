"""Data tables of the seven documented images: port, sign-in form, redirects and API."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from . import pages
from .pages import Page


@dataclass(frozen=True)
class SignIn:
    """A sign-in form and the account that WebArena publishes for it."""

    path: str
    action: str
    user_field: str
    user_label: str
    password_field: str
    button: str
    username: str
    password: str
    csrf_field: str
    after: str
    sign_out: str
    failure: str
    user_attributes: str = ""
    password_attributes: str = ""
    button_attributes: str = ""
    password_label: str = "Password"
    repeats_form: bool = False  # a failed attempt shows the form again, without a redirect
    link: str = "Sign In"


@dataclass(frozen=True)
class Entry:
    """A form by which a signed-in visitor adds an entry."""

    form: str
    action: str
    field: str
    attributes: str
    button: str
    parent: str  # path below which the entry's page appears


@dataclass(frozen=True)
class Image:
    """One documented image."""

    name: str
    port: int
    entry: str  # the path of the address that upstream gives to the tasks
    title: str
    pages: tuple[Page, ...]
    cookie: str = ""
    cookie_path: str = "/"
    sign_in: SignIn | None = None
    private: str = ""  # every path below this one needs a session
    absolute: bool = False  # links, redirects and forms use the configured base address
    cookie_domain: bool = False  # the session cookie names its domain
    not_found: str = "404 Not Found"
    children: tuple[str, ...] = ()  # endings under which each known page has subpages
    api: Literal["magento", "gitlab", "postmill", "osm", "kiwix", ""] = ""
    entry_form: Entry | None = None
    headers: tuple[tuple[str, str], ...] = ()


_CUSTOMER = SignIn(
    path="/customer/account/login",
    action="/customer/account/loginPost/",
    user_field="login[username]",
    user_label="Email",
    password_field="login[password]",
    button="Sign In",
    username="emma.lopez@gmail.com",
    password="Password.123",
    csrf_field="form_key",
    after="/customer/account/",
    sign_out="/customer/account/logout/",
    failure=(
        "The account sign-in was incorrect or your account is disabled temporarily. Please wait and try again later."
    ),
    user_attributes='id="email" type="email" title="Email"',
    password_attributes='id="pass" title="Password"',
    button_attributes='class="action login primary" id="send2" name="send"',
)

_ADMIN = SignIn(
    path="/admin",
    action="/admin/",
    user_field="login[username]",
    user_label="Username",
    password_field="login[password]",
    button="Sign in",
    username="admin",
    password="admin1234",
    csrf_field="form_key",
    after="/admin/admin/dashboard/",
    sign_out="/admin/admin/auth/logout/",
    failure=(
        "The account sign-in was incorrect or your account is disabled temporarily. Please wait and try again later."
    ),
    user_attributes='id="username" placeholder="user name"',
    password_attributes='id="login" placeholder="password"',
    button_attributes='class="action-login action-primary"',
    repeats_form=True,
    link="",
)

_FORUM = SignIn(
    path="/login",
    action="/login_check",
    user_field="_username",
    user_label="Username",
    password_field="_password",
    button="Log in",
    username="MarvelsGrantMan136",
    password="test1234",
    csrf_field="_csrf_token",
    after="/",
    sign_out="/logout",
    failure="Invalid credentials.",
    user_attributes='id="login-username"',
    password_attributes='id="login-password"',
    link="Log in",
)

_GITLAB = SignIn(
    path="/users/sign_in",
    action="/users/sign_in",
    user_field="user[login]",
    user_label="Username or email",
    password_field="user[password]",
    button="Sign in",
    username="byteblaze",
    password="hello1234",
    csrf_field="authenticity_token",
    after="/",
    sign_out="/users/sign_out",
    failure="Invalid login or password.",
    user_attributes='id="user_login" data-testid="username-field"',
    password_attributes='id="user_password" data-testid="password-field"',
    button_attributes='name="commit" data-testid="sign-in-button"',
    repeats_form=True,
    link="Sign in",
)

IMAGES: dict[str, Image] = {
    image.name: image
    for image in (
        Image(
            name="shopping",
            port=7770,
            entry="",
            title="One Stop Market",
            pages=pages.SHOPPING,
            cookie="PHPSESSID",
            sign_in=_CUSTOMER,
            absolute=True,
            cookie_domain=True,
            api="magento",
            headers=(("X-Frame-Options", "SAMEORIGIN"), ("X-Magento-Tags", "FPC")),
        ),
        Image(
            name="shopping_admin",
            port=7780,
            entry="/admin",
            title="Magento Admin",
            pages=pages.SHOPPING_ADMIN,
            cookie="admin",
            cookie_path="/admin",
            sign_in=_ADMIN,
            private="/admin",
            absolute=True,
            cookie_domain=True,
            api="magento",
            headers=(("X-Frame-Options", "SAMEORIGIN"),),
        ),
        Image(
            name="reddit",
            port=9999,
            entry="",
            title="Postmill",
            pages=pages.REDDIT,
            cookie="PHPSESSID",
            sign_in=_FORUM,
            not_found="404 Not Found",
            children=("/new", "/hot", "/top", "/active", "/edit"),
            api="postmill",
            entry_form=Entry(
                form="/submit/books",
                action="/submit/books",
                field="submission[title]",
                attributes='id="submission_title"',
                button="Create submission",
                parent="/f/books",
            ),
        ),
        Image(
            name="gitlab",
            port=8023,
            entry="",
            title="GitLab",
            pages=pages.GITLAB,
            cookie="_gitlab_session",
            sign_in=_GITLAB,
            not_found="The page could not be found or you don't have permission to view it (404)",
            children=("/-/",),
            api="gitlab",
            entry_form=Entry(
                form="/byteblaze/dotfiles/-/issues/new",
                action="/byteblaze/dotfiles/-/issues",
                field="issue[title]",
                attributes='id="issue_title"',
                button="Create issue",
                parent="/byteblaze/dotfiles/-/issues",
            ),
            headers=(("X-Gitlab-Meta", '{"version":"1"}'),),
        ),
        Image(
            name="map",
            port=3000,
            entry="",
            title="OpenStreetMap",
            pages=pages.MAP,
            cookie="_osm_session",
            not_found="File not found",
            api="osm",
        ),
        Image(
            name="wikipedia",
            port=8888,
            entry=f"/{pages.BOOK}/A/User:The_other_Kiwix_guy/Landing",
            title="Wikipedia",
            pages=pages.WIKIPEDIA,
            not_found="Content not found",
            api="kiwix",
        ),
        Image(
            name="homepage",
            port=4399,
            entry="",
            title="Homepage",
            pages=pages.HOMEPAGE,
        ),
    )
}
"""The seven images by the name that WebArena's tasks use."""

RESET_PORT = 7565
"""Port of the reset server of the public set-up scripts."""
