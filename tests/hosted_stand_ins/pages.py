"""Pages and known facts of the seven images, taken from upstream's tasks and guides."""

from __future__ import annotations

from dataclasses import dataclass

BOOK = "wikipedia_en_all_maxi_2022-05"
"""Name of the book that upstream's kiwix server opens."""


@dataclass(frozen=True)
class Page:
    """One page: its path, title, text and whether it needs a session."""

    path: str
    title: str
    text: str = ""
    private: bool = False
    kind: str = "page"  # product, order, forum, submission, project, article, page


def _products(*names: tuple[str, str]) -> tuple[Page, ...]:
    return tuple(Page(f"/{slug}.html", name, "Add to Cart", kind="product") for slug, name in names)


SHOPPING = (
    Page("/", "One Stop Market", "Product Showcases"),
    Page("/customer/account/create", "Create New Customer Account"),
    Page("/customer/account", "My Account", "Contact Information Emma Lopez", True),
    Page("/customer/account/edit", "Edit Account Information", "Emma Lopez", True),
    Page("/customer/address", "Address Book", "Default Billing Address Emma Lopez", True),
    Page("/wishlist", "My Wish List", "You have no items in your wish list.", True),
    Page("/newsletter/manage", "Newsletter Subscription", "General Subscription", True),
    Page("/sales/order/history", "My Orders", "37 Item(s) 000000189 000000188 000000187", True),
    *(
        Page(f"/sales/order/view/order_id/{n}", f"Order # 000000{n}", "Items Ordered", True, "order")
        for n in (170, 180, 187, 188, 189)
    ),
    Page("/checkout/cart", "Shopping Cart", "You have no items in your shopping cart."),
    Page("/contact", "Contact Us", "What's on your mind?"),
    Page("/catalogsearch/result", "Search results", "Sort By Price", kind="listing"),
    Page("/catalogsearch/result/index", "Search results", "Sort By Price", kind="listing"),
    Page("/catalogsearch/advanced", "Advanced Search"),
    Page("/electronics/headphones.html", "Headphones - Electronics", "Items", kind="listing"),
    Page("/video-games.html", "Video Games", "Items", kind="listing"),
    Page("/clothing-shoes-jewelry/women/shoes.html", "Shoes - Women", "Items", kind="listing"),
    Page("/clothing-shoes-jewelry/men/shoes.html", "Shoes - Men", "Items", kind="listing"),
    *_products(
        (
            "sandgrens-swedish-handmade-wooden-clog-sandal-copenhagen",
            "Sandgrens Swedish Handmade Wooden Clog Sandal | Copenhagen",
        ),
        ("mineralogie-all-natural-lip-gloss-ruby-rose", "Mineralogie All Natural Lip Gloss - Ruby Rose"),
        (
            "sceptre-e195bd-srr-19-inch-720p-led-tv-true-black-2017",
            "Sceptre E195BD-SRR 19-Inch 720P LED TV, True Black (2017)",
        ),
        (
            "epson-workforce-wf-3620-wifi-direct-all-in-one-color-inkjet-printer-copier-scanner-"
            "amazon-dash-replenishment-ready",
            "Epson WorkForce WF-3620 WiFi Direct All-in-One Color Inkjet Printer, Copier, Scanner, "
            "Amazon Dash Replenishment Ready",
        ),
        ("ciclon-energy-drink-regular-24-cans-8-3oz", "Ciclon Energy Drink, Regular (24 Cans, 8.3oz)"),
        ("photosmart-plus-b209-clr-inkjetfb-p-s-c-usb-wrls-1", "PhotoSmart Plus B209 Clr Inkjet"),
    ),
)

SHOPPING_ADMIN = (
    Page("/", "Home Page", "Luma"),
    Page("/admin/dashboard", "Dashboard / Magento Admin", "Lifetime Sales Bestsellers", True),
    Page("/admin/admin/dashboard", "Dashboard / Magento Admin", "Lifetime Sales Bestsellers", True),
    Page("/admin/admin/system_account", "My Account / Magento Admin", "Current Password", True),
    Page("/admin/sales/order", "Orders / Operations / Sales", "308 records found", True),
    Page("/admin/catalog/product", "Products / Inventory / Catalog", "2040 records found", True),
    Page("/admin/customer/index", "Customers / Magento Admin", "70 records found", True),
    Page("/admin/review/product", "Reviews / Marketing", "351 records found", True),
    Page("/admin/sales_rule/promo_quote", "Cart Price Rules / Marketing", "4 records found", True),
    Page("/admin/reports/report_sales/sales", "Orders Report / Reports", "Show Report", True),
    Page("/admin/reports/report_sales/bestsellers", "Bestsellers Report", "Quest Lumaflex™ Band", True),
    *(Page(f"/admin/cms/page/edit/page_id/{n}", "Edit Page / Content", "", True) for n in range(1, 6)),
    *(
        Page(f"/admin/catalog/product/edit/id/{n}", f"{name} / Products", name, True, "product")
        for n, name in (
            (1481, "Ingrid Running Jacket"),
            (237, "Mach Street Sweatshirt"),
            (418, "Hyperion Elements Jacket"),
            (721, "Rocco Gym Tank"),
            (710, "Sparta Gym Tank"),
            (996, "Aether Gym Pant"),
        )
    ),
    *(
        Page(f"/admin/sales/order/view/order_id/{n}", f"#000000{n} / Orders", "", True, "order")
        for n in (65, 125, 299, 300, 301, 302, 307)
    ),
    *(
        Page(f"/{slug}.html", name, "Add to Cart", kind="product")
        for slug, name in (
            ("affirm-water-bottle", "Affirm Water Bottle"),
            ("antonia-racer-tank", "Antonia Racer Tank"),
            ("bella-tank", "Bella Tank"),
            ("radiant-tee", "Radiant Tee"),
            ("selene-yoga-hoodie", "Selene Yoga Hoodie"),
        )
    ),
)

_FORUMS = (
    "books", "pics", "pittsburgh", "singularity", "technology", "news", "movies", "nyc", "space",
    "DIY", "EarthPorn", "MachineLearning", "deeplearning", "gaming", "iphone", "headphones",
    "relationship_advice", "sports", "LifeProTips", "dataisbeautiful", "explainlikeimfive",
    "history", "television", "wallstreetbets", "Futurology", "IAmA", "consoles", "science", "aww",
)  # fmt: skip

REDDIT = (
    Page("/", "Postmill", "Featured Hot New Active Top"),
    Page("/forums", "List of forums", " ".join(_FORUMS)),
    Page("/forums/all", "All forums", " ".join(_FORUMS)),
    Page("/registration", "Sign up"),
    Page("/search", "Search"),
    Page("/user/MarvelsGrantMan136", "MarvelsGrantMan136", "Submissions Comments"),
    Page("/user/MarvelsGrantMan136/account", "Account", "Delete account", True),
    Page("/user/MarvelsGrantMan136/edit_biography", "Edit biography", "", True),
    Page("/submit", "Create submission", "", True),
    Page("/create_forum", "Create new forum", "", True),
    *(Page(f"/f/{name}", name, f"/f/{name} Subscribe", kind="forum") for name in _FORUMS),
    *(
        Page(f"/f/{path}", title, "comments", kind="submission")
        for path, title in (
            ("books/59421/friendly-reminder-bookshop-org-exists", "Friendly reminder bookshop.org exists."),
            (
                "pittsburgh/45899/driving-in-pittsburgh-summed-up-by-one-traffic-sign",
                "Driving in Pittsburgh - summed up by one traffic sign",
            ),
            ("singularity/69404/this-is-how-chatgpt-sees-itself", "This is how chatGPT sees itself."),
            (
                "technology/134852/ai-experts-disown-musk-backed-campaign-citing-their-research",
                "AI experts disown Musk-backed campaign citing their research",
            ),
        )
    ),
)

PROJECTS = (
    ("a11yproject/a11yproject.com", "The A11Y Project"),
    ("primer/design", "Primer"),
    ("byteblaze/dotfiles", "Byte Blaze"),
    ("byteblaze/gimmiethat.space", "Byte Blaze"),
    ("byteblaze/solarized-prism-theme", "Byte Blaze"),
    ("byteblaze/a11y-syntax-highlighting", "Byte Blaze"),
    ("byteblaze/a11y-webring.club", "Byte Blaze"),
    ("byteblaze/accessible-html-content-patterns", "Byte Blaze"),
    ("byteblaze/cloud-to-butt", "Byte Blaze"),
    ("byteblaze/empathy-prompts", "Byte Blaze"),
    ("byteblaze/millennials-to-snake-people", "Byte Blaze"),
    ("byteblaze/timeit", "Byte Blaze"),
    ("root/metaseq", "Administrator"),
    ("vinta/awesome-python", "Vinta Chen"),
    ("CellularPrivacy/Android-IMSI-Catcher-Detector", "CellularPrivacy"),
    ("dehenne/awesome-visibility", "Henning Leutz"),
    ("amwhalen/archive-my-tweets", "Andrew M. Whalen"),
    ("convexegg/chatgpt", "Convex Eggtart"),
)
"""Projects that tasks open, with the display name of their namespace."""

GITLAB = (
    Page("/", "Projects · Dashboard · GitLab", "Your projects", True),
    Page("/explore", "Explore · GitLab", "Explore projects Discover projects"),
    Page("/help", "Help · GitLab", "GitLab Community Edition 15.7.5", True),
    Page("/-/profile", "Edit Profile · User Settings · GitLab", "Byte Blaze", True),
    Page("/-/profile/personal_access_tokens", "Access Tokens · User Settings · GitLab", "", True),
    Page("/dashboard/projects", "Projects · Dashboard · GitLab", "Your projects", True),
    Page("/dashboard/issues", "Issues · Dashboard · GitLab", "", True),
    Page("/dashboard/todos", "To-Do List · Dashboard · GitLab", "", True),
    Page("/dashboard/merge_requests", "Merge requests · Dashboard · GitLab", "", True),
    Page("/projects/new", "New Project · GitLab", "Create blank project", True),
    Page("/byteblaze", "Byte Blaze · GitLab", "@byteblaze"),
    Page("/users/byteblaze/starred", "Byte Blaze · GitLab", "Starred projects"),
    Page("/users/byteblaze/following", "Byte Blaze · GitLab", "Following"),
    *(
        Page(f"/{path}", f"{owner} / {path.split('/')[1]} · GitLab", "Commits Branches", kind="project")
        for path, owner in PROJECTS
    ),
)

MAP = (
    Page("/", "OpenStreetMap", "Welcome to OpenStreetMap! Find directions between two points"),
    Page("/search", "Search Results | OpenStreetMap", "Search Results"),
    Page("/directions", "Directions | OpenStreetMap", "Car (OSRM) Bicycle (OSRM) Foot (OSRM)"),
    Page("/login", "Login | OpenStreetMap", "Email Address or Username"),
    Page("/about", "About | OpenStreetMap"),
    Page("/copyright", "Copyright and License | OpenStreetMap"),
)

WIKIPEDIA = (
    Page("/", "Welcome to Kiwix Server", "Wikipedia"),
    Page(f"/{BOOK}/A/User:The_other_Kiwix_guy/Landing", "User:The other Kiwix guy/Landing",
         "Welcome to Wikipedia, the free encyclopedia"),
    Page(f"/{BOOK}/A/Pittsburgh", "Pittsburgh", "Pittsburgh is a city in Pennsylvania", kind="article"),
    Page(f"/{BOOK}/A/Carnegie_Mellon_University", "Carnegie Mellon University", "", kind="article"),
    Page(f"/{BOOK}/A/Nolan", "Nolan", "", kind="article"),
)  # fmt: skip

HOMEPAGE = (
    Page("/", "Homepage", "Welcome to WebArena"),
    Page("/calculator.html", "Calculator", "Calculate"),
    Page("/scratchpad.html", "Scratchpad", "Save"),
)

HOMEPAGE_NAMES = {
    "shopping": "OneStopShop",
    "shopping_admin": "Merchant Admin Portal",
    "reddit": "Reddit",
    "gitlab": "Gitlab",
    "map": "OpenStreetMap",
    "wikipedia": "Wikipedia",
}
"""Names by which the home page links to the other sites."""
