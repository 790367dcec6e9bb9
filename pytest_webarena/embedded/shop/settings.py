"""Django settings of the store. The database's path is filled in by `runtime.configure`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from oscar.defaults import *  # noqa: F403

from pytest_webarena.embedded.shop.identity import CURRENCY, SHOP_MAIL, SHOP_NAME, TAGLINE

HERE = Path(__file__).parent

DEBUG = False
ALLOWED_HOSTS = ["*"]  # the gateway decides which hosts exist; sites compare only the first label
SECRET_KEY = "a fixed key, so that a session signed by one replica is valid in every other"
USE_TZ = True
TIME_ZONE = "UTC"
# English only: without gettext, pages render faster and the process starts earlier.
USE_I18N = False
LANGUAGE_CODE = "en-gb"
FORMAT_MODULE_PATH = "pytest_webarena.embedded.shop.formats"

INSTALLED_APPS = [
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django.contrib.sites",
    "django.contrib.flatpages",
    "pytest_webarena.embedded.shop.apps.ShopConfig",
    "oscar.config.Shop",
    "oscar.apps.analytics.apps.AnalyticsConfig",
    "oscar.apps.checkout.apps.CheckoutConfig",
    "oscar.apps.address.apps.AddressConfig",
    "oscar.apps.shipping.apps.ShippingConfig",
    "oscar.apps.catalogue.apps.CatalogueConfig",
    "oscar.apps.catalogue.reviews.apps.CatalogueReviewsConfig",
    "oscar.apps.communication.apps.CommunicationConfig",
    "oscar.apps.partner.apps.PartnerConfig",
    "oscar.apps.basket.apps.BasketConfig",
    "oscar.apps.payment.apps.PaymentConfig",
    "oscar.apps.offer.apps.OfferConfig",
    "oscar.apps.order.apps.OrderConfig",
    "oscar.apps.customer.apps.CustomerConfig",
    "oscar.apps.search.apps.SearchConfig",
    "oscar.apps.voucher.apps.VoucherConfig",
    "oscar.apps.wishlists.apps.WishlistsConfig",
    "oscar.apps.dashboard.apps.DashboardConfig",
    "oscar.apps.dashboard.reports.apps.ReportsDashboardConfig",
    "oscar.apps.dashboard.users.apps.UsersDashboardConfig",
    "oscar.apps.dashboard.orders.apps.OrdersDashboardConfig",
    "oscar.apps.dashboard.catalogue.apps.CatalogueDashboardConfig",
    "oscar.apps.dashboard.offers.apps.OffersDashboardConfig",
    "oscar.apps.dashboard.partners.apps.PartnersDashboardConfig",
    "oscar.apps.dashboard.pages.apps.PagesDashboardConfig",
    "oscar.apps.dashboard.ranges.apps.RangesDashboardConfig",
    "oscar.apps.dashboard.reviews.apps.ReviewsDashboardConfig",
    "oscar.apps.dashboard.vouchers.apps.VouchersDashboardConfig",
    "oscar.apps.dashboard.communications.apps.CommunicationsDashboardConfig",
    "oscar.apps.dashboard.shipping.apps.ShippingDashboardConfig",
    "widget_tweaks",
    "haystack",
    "treebeard",
    "django_tables2",
]
SITE_ID = 1

MIDDLEWARE = [
    "pytest_webarena.embedded.shop.hosts.HostMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "oscar.apps.basket.middleware.BasketMiddleware",
    "django.contrib.flatpages.middleware.FlatpageFallbackMiddleware",
]
ROOT_URLCONF = "pytest_webarena.embedded.shop.urls"

TEMPLATES: list[dict[str, Any]] = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [HERE / "templates"],
        "OPTIONS": {
            "loaders": [
                (
                    "django.template.loaders.cached.Loader",
                    [
                        "django.template.loaders.filesystem.Loader",
                        "django.template.loaders.app_directories.Loader",
                    ],
                )
            ],
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "oscar.apps.checkout.context_processors.checkout",
                "oscar.core.context_processors.metadata",
                "pytest_webarena.embedded.shop.context.shop",
            ],
        },
    }
]

DATABASES: dict[str, dict[str, Any]] = {
    "default": {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": "",
        "ATOMIC_REQUESTS": True,
        # Kept open between requests; `runtime` drops it as soon as the file is another one.
        "CONN_MAX_AGE": None,
        "OPTIONS": {
            "timeout": 60,  # a starved machine is no reason for "database is locked"
            # Requests take turns: one that read first and then writes could otherwise fail with "database is locked".
            "transaction_mode": "IMMEDIATE",
            # Nothing here outlives a crash of the machine; a rollback journal keeps it one file.
            "init_command": "PRAGMA journal_mode=MEMORY; PRAGMA synchronous=OFF; PRAGMA temp_store=MEMORY;"
            " PRAGMA cache_size=-512;",
        },
    }
}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
# The schema comes straight from the models.
_APPS_WITH_TABLES = (
    "auth", "contenttypes", "sessions", "sites", "flatpages", "analytics", "checkout", "address", "shipping",
    "catalogue", "reviews", "communication", "partner", "basket", "payment", "offer", "order", "customer", "search",
    "voucher", "wishlists",
)  # fmt: skip
MIGRATION_MODULES = dict.fromkeys(_APPS_WITH_TABLES)

AUTHENTICATION_BACKENDS = ["pytest_webarena.embedded.shop.passwords.NameOrMail"]
# The sites are throw-away: few rounds keep signing in cheap.
PASSWORD_HASHERS = ["pytest_webarena.embedded.shop.passwords.QuickHasher"]
AUTH_PASSWORD_VALIDATORS: list[dict[str, Any]] = [
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 8}}
]

# Signed cookies: a stored login works on every replica, and a visit writes nothing.
SESSION_ENGINE = "django.contrib.sessions.backends.signed_cookies"
SESSION_COOKIE_NAME = "store_session"
SESSION_COOKIE_AGE = 365 * 24 * 3600
CSRF_COOKIE_NAME = "store_csrf"
MESSAGE_STORAGE = "django.contrib.messages.storage.session.SessionStorage"
CACHES = {"default": {"BACKEND": "django.core.cache.backends.dummy.DummyCache"}}
EMAIL_BACKEND = "django.core.mail.backends.dummy.EmailBackend"
DEFAULT_FROM_EMAIL = SHOP_MAIL

STATIC_URL = "/static/"
STATICFILES_DIRS = [HERE / "static"]
STATICFILES_FINDERS = [
    "django.contrib.staticfiles.finders.FileSystemFinder",
    "django.contrib.staticfiles.finders.AppDirectoriesFinder",
]
MEDIA_URL = "/media/"
STORAGES = {
    "default": {"BACKEND": "pytest_webarena.embedded.shop.media.ArtworkStorage"},
    "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"},
}

HAYSTACK_CONNECTIONS = {"default": {"ENGINE": "haystack.backends.simple_backend.SimpleEngine"}}
HAYSTACK_SIGNAL_PROCESSOR = "haystack.signals.BaseSignalProcessor"

OSCAR_SHOP_NAME = SHOP_NAME
OSCAR_SHOP_TAGLINE = TAGLINE
OSCAR_FROM_EMAIL = SHOP_MAIL
OSCAR_HOMEPAGE = "/"
OSCAR_DEFAULT_CURRENCY = CURRENCY
OSCAR_CURRENCY_FORMAT = "#,##0.00 'kr'"
OSCAR_DYNAMIC_CLASS_LOADER = "pytest_webarena.embedded.shop.overrides.load_classes"
OSCAR_THUMBNAILER = "pytest_webarena.embedded.shop.media.NoThumbnails"
OSCAR_IMAGE_FOLDER = "uploads/"
OSCAR_MISSING_IMAGE_URL = "products/none.svg"
OSCAR_ALLOW_ANON_CHECKOUT = False
OSCAR_ALLOW_ANON_REVIEWS = False
OSCAR_MODERATE_REVIEWS = True
OSCAR_PRODUCTS_PER_PAGE = 24
OSCAR_REVIEWS_PER_PAGE = 10
OSCAR_ORDERS_PER_PAGE = 10
OSCAR_DASHBOARD_ITEMS_PER_PAGE = 20
OSCAR_SEND_REGISTRATION_EMAIL = False
OSCAR_SAVE_SENT_EMAILS_TO_DB = False
OSCAR_EAGER_ALERTS = False
OSCAR_RECENTLY_VIEWED_PRODUCTS = 6
OSCAR_REQUIRED_ADDRESS_FIELDS = ("first_name", "last_name", "line1", "line4", "postcode", "country")
OSCAR_INITIAL_ORDER_STATUS = "Pending"
OSCAR_INITIAL_LINE_STATUS = "Pending"
OSCAR_ORDER_STATUS_PIPELINE = {
    "Pending": ("Processing", "On hold", "Cancelled"),
    "Processing": ("Shipped", "On hold", "Cancelled"),
    "On hold": ("Processing", "Cancelled"),
    "Shipped": ("Complete", "Returned"),
    "Complete": ("Returned",),
    "Returned": (),
    "Cancelled": (),
}
OSCAR_LINE_STATUS_PIPELINE = OSCAR_ORDER_STATUS_PIPELINE
OSCAR_ORDER_STATUS_CASCADE = {status: status for status in OSCAR_ORDER_STATUS_PIPELINE}
PHONENUMBER_DEFAULT_REGION = "GB"
FORM_RENDERER = "django.forms.renderers.DjangoTemplates"
LOGGING_CONFIG = None
SILENCED_SYSTEM_CHECKS = ["fields.W342"]
