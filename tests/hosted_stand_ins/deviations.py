"""Deviations from the documented images that a lab meets, written before the catalogue was read."""

from __future__ import annotations

from dataclasses import dataclass

from .options import Options
from .pages import BOOK


@dataclass(frozen=True)
class Deviation:
    """One way in which a lab's site departs from its documented image."""

    name: str
    site: str
    sentence: str
    options: Options
    hint: tuple[str, ...]  # words of which the doctor's sentence should carry one


DEVIATIONS: tuple[Deviation, ...] = (
    Deviation(
        "wrong-port", "shopping",
        "The shop's address has the port of the shop's administration, which is also a Magento.",
        Options(answers_as="shopping_admin"), ("One Stop Market", "title", "Luma", "another site"),
    ),
    Deviation(
        "closed-port", "gitlab", "Nothing listens at GitLab's address.",
        Options(listens=False), ("refused", "connect", "answer", "reach"),
    ),
    Deviation(
        "https-redirect", "reddit", "A proxy redirects every http address to https, where nothing listens.",
        Options(https_redirect=True), ("https", "redirect"),
    ),
    Deviation(
        "sign-in-elsewhere", "gitlab", "The sign-in page is at /auth/login; the documented path is a 404.",
        Options(sign_in_path="/auth/login"), ("404", "sign", "/users/sign_in"),
    ),
    Deviation(
        "changed-password", "shopping_admin", "The administrator's password is no longer the published one.",
        Options(password="Another-1"), ("password", "sign", "account"),
    ),
    Deviation(
        "base-url-not-set", "shopping", "The shop still redirects to the host that built the image.",
        Options(base="http://metis.lti.cs.cmu.edu:7770"), ("metis.lti.cs.cmu.edu",),
    ),
    Deviation(
        "links-to-another-host", "shopping_admin",
        "The administration answers, but its links and forms name the host that built the image.",
        Options(base="http://metis.lti.cs.cmu.edu:7780", redirects_to_base=False),
        ("metis.lti.cs.cmu.edu",),
    ),
    Deviation(
        "localhost-base-url", "shopping",
        "The base address says localhost while the tasks use the machine's address.",
        Options(base="http://localhost:{port}"), ("localhost",),
    ),
    Deviation(
        "product-missing", "shopping", "Products that tasks open are not in the catalogue.",
        Options(missing=("/sandgrens", "/epson", "/sceptre", "/mineralogie", "/ciclon", "/photosmart")),
        (".html", "product", "404"),
    ),
    Deviation(
        "empty-search-index", "shopping", "Search and categories list no product: the index was not built.",
        Options(empty_search=True), ("search", "no product", "matching", "listing"),
    ),
    Deviation(
        "token-refused", "shopping", "The API refuses the administrator's credentials and tokens.",
        Options(token_refused=True), ("401", "token", "API"),
    ),
    Deviation(
        "still-starting", "gitlab", "GitLab answers 502 for its first minutes.",
        Options(unready_requests=10_000), ("502", "start"),
    ),
    Deviation(
        "wrong-locale", "shopping", "The shop is in German.",
        Options(locale="de"), ("de", "language", "locale", "English", "Sign In", "Customer Login"),
    ),
    Deviation(
        "other-field-names", "gitlab", "Another version names the sign-in form's fields differently.",
        Options(field_names=(("user[login]", "username"), ("user[password]", "secret"))),
        ("user[login]", "field"),
    ),
    Deviation(
        "repository-missing", "gitlab", "A repository that tasks open does not exist.",
        Options(missing=("/a11yproject/a11yproject.com", "/api/v4/projects/a11yproject/")),
        ("a11yproject",),
    ),
    Deviation(
        "other-book", "wikipedia", "The encyclopedia's book has another date in its name.",
        Options(renamed=(f"/{BOOK}", "/wikipedia_en_all_maxi_2023-10")), (BOOK, "404"),
    ),
    Deviation(
        "newer-kiwix", "wikipedia", "A newer kiwix redirects each page below /content/.",
        Options(moved=(f"/{BOOK}", f"/content/{BOOK}")), ("/content/", "redirect"),
    ),
    Deviation(
        "no-tiles", "map", "The map has no tiles: its tile server is not connected.",
        Options(missing=("/tile/",)), ("tile",),
    ),
    Deviation(
        "no-routing", "map", "The map finds no directions: its routing servers are off.",
        Options(missing=("/osrm/",)), ("rout", "osrm", "direction"),
    ),
    Deviation(
        "reset-does-nothing", "gitlab", "The reset answers 200 and changes nothing.",
        Options(reset_does_nothing=True), ("reset",),
    ),
    Deviation(
        "foreign-cookie-domain", "reddit", "The session cookie names the domain of another host.",
        Options(cookie_domain="metis.lti.cs.cmu.edu"), ("cookie", "domain", "sign", "session"),
    ),
    Deviation(
        "short-session", "shopping", "A session ends after one request.",
        Options(session_requests=1), ("session", "sign"),
    ),
    Deviation(
        "two-instances", "reddit", "A balancer spreads requests over two servers that share nothing.",
        Options(instances=2), ("session", "sign", "instance", "csrf"),
    ),
    Deviation(
        "secret-key-in-addresses", "shopping_admin",
        "Deep addresses of the administration redirect to the dashboard: they need a secret key.",
        Options(secret_key=True), ("key", "redirect", "dashboard"),
    ),
    Deviation(
        "forced-password-change", "shopping_admin",
        "Every page of the administration redirects to the change of an expired password.",
        Options(forced_password_change=True), ("password", "system_account", "redirect"),
    ),
    Deviation(
        "wrong-clock", "shopping", "The server's clock is two years behind.",
        Options(clock_offset_days=-730), ("clock", "time", "date"),
    ),
    Deviation(
        "rate-limit", "gitlab", "The server answers 429 after four requests.",
        Options(rate_limit=4), ("429", "rate"),
    ),
    Deviation(
        "maintenance", "shopping_admin", "The server is in maintenance mode and answers 503.",
        Options(maintenance=True), ("503", "maintenance"),
    ),
    Deviation(
        "captcha", "shopping", "The sign-in form asks for a captcha.",
        Options(captcha=True), ("captcha", "sign"),
    ),
    Deviation(
        "consent-page", "reddit", "A consent page covers every page until it is accepted.",
        Options(consent=True), ("consent", "Before you continue", "cookie", "title"),
    ),
    Deviation(
        "automation-blocked", "reddit", "A filter refuses browsers and clients that look automated.",
        Options(refused_agents=("headless", "python", "httpx", "webarena", "playwright")),
        ("403", "refuse", "block"),
    ),
    Deviation(
        "slash-loop", "shopping_admin", "The server redirects between an address with and without a slash.",
        Options(slash_loop=True), ("redirect", "loop"),
    ),
    Deviation(
        "empty-database", "reddit", "The forum runs on an empty database.",
        Options(empty=True), ("forum", "books", "404", "account", "sign"),
    ),
    Deviation(
        "used-database", "gitlab", "Projects that an earlier run created are still there.",
        Options(leftovers=True), ("run-", "project", "state", "reset", "leftover"),
    ),
    Deviation(
        "read-only-database", "reddit", "Pages and sign-in work; every new entry fails with a 500.",
        Options(read_only=True), ("write", "read-only", "500"),
    ),
    Deviation(
        "wrong-length", "wikipedia", "Compressed pages announce more bytes than they have.",
        Options(wrong_gzip=True), ("length", "incomplete", "broke", "closed", "read"),
    ),
    Deviation(
        "placeholder-links", "homepage", "The home page's links keep the guide's unreplaced host name.",
        Options(placeholder_links=True), ("your-server-hostname", "link"),
    ),
    Deviation(
        "basic-auth", "map", "A proxy asks for a user name and password (HTTP 401).",
        Options(basic_auth=True), ("401", "auth"),
    ),
)  # fmt: skip
"""The deviations, in no particular order."""
