"""The back office: actions of the owner, and permissions of employees."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pytest_webarena.tasks import load_tasks

Rows = Callable[..., list[tuple[Any, ...]]]


def figures(visitor: Any, report: str, first: str = "", last: str = "") -> str:
    visitor.get("/dashboard/reports/")
    return str(
        visitor.submit(
            visitor.form(id="generate_report_form"), {"report_type": report, "date_from": first, "date_to": last}
        )
    )


class TestHosts:
    def test_root_of_the_back_office_is_the_dashboard(self, owner: Any) -> None:
        text = owner.get("/")
        assert owner.url == "http://shopping-admin.test/dashboard/"
        assert "orders in the last 24 hours" in text

    def test_store_and_back_office_redirect_to_their_hosts(self, owner: Any, mara: Any) -> None:
        owner.get("/catalogue/")
        assert owner.url == "http://shopping.test/catalogue/"
        mara.get("/dashboard/orders/")
        assert mara.url.startswith("http://shopping-admin.test/dashboard/login/")

    def test_customers_cannot_open_the_back_office(self, visitor: Any) -> None:
        visitor.url = "http://shopping-admin.test/"
        visitor.sign_in("mara.linden")
        visitor.get("/dashboard/")
        assert visitor.status == 403


class TestOrders:
    def test_order_changes_state(self, owner: Any, rows: Rows) -> None:
        number = rows("select number from order_order where status = 'Pending' limit 1")[0][0]
        owner.get("/dashboard/orders/")
        owner.submit(owner.form(holds="order_number"), {"order_number": number})
        if f"/orders/{number}/" not in owner.url:
            owner.get(f"/dashboard/orders/{number}/")
        owner.submit(owner.form(id="order_status_form"), {"new_status": "Processing"})
        assert rows("select status from order_order where number = ?", number) == [("Processing",)]
        assert "Processing" in owner.get(f"/dashboard/orders/{number}/")

    def test_shipped_orders_do_not_go_back(self, owner: Any, rows: Rows) -> None:
        number = rows("select number from order_order where status = 'Shipped' limit 1")[0][0]
        owner.get(f"/dashboard/orders/{number}/")
        labels = [label for _, label in owner.form(id="order_status_form").choices["new_status"]]
        assert "Complete" in labels
        assert "Pending" not in labels

    def test_order_gets_a_note(self, owner: Any, rows: Rows) -> None:
        number = rows("select number from order_order limit 1")[0][0]
        owner.get(f"/dashboard/orders/{number}/")
        owner.submit(
            owner.form(holds="message"), {"message": "Called the customer."}, button=("order_action", "save_note")
        )
        assert ("Called the customer.",) in rows("select message from order_ordernote")


class TestCatalogue:
    def test_price_and_stock_are_edited(self, owner: Any, visitor: Any, rows: Rows) -> None:
        number, slug = rows("select id, slug from catalogue_product where structure = 'standalone' limit 1")[0]
        owner.get(f"/dashboard/catalogue/products/{number}/")
        assert owner.status == 200
        form = owner.form(holds="stockrecords-0-num_in_stock")
        owner.submit(
            form, {"stockrecords-0-num_in_stock": "77", "stockrecords-0-price": "12.34"}, button=("action", "save")
        )
        assert rows("select num_in_stock, price from partner_stockrecord where product_id = ?", number) == [(77, 12.34)]
        assert "12.34 kr" in visitor.get(f"/catalogue/{slug}_{number}/")

    def test_product_moves_to_another_category(self, owner: Any, rows: Rows) -> None:
        number = rows("select id from catalogue_product where structure = 'standalone' limit 1")[0][0]
        owner.get(f"/dashboard/catalogue/products/{number}/")
        form = owner.form(holds="stockrecords-0-num_in_stock")
        field = next(name for name in form.choices if name.endswith("-0-category"))
        labels = {label: value for value, label in form.choices[field]}
        owner.submit(form, {field: labels["Home & Living > Clocks"]}, button=("action", "save"))
        assert rows(
            "select g.name from catalogue_productcategory c join catalogue_category g on g.id = c.category_id"
            " where c.product_id = ?",
            number,
        ) == [("Clocks",)]

    def test_category_is_renamed(self, owner: Any, visitor: Any, rows: Rows) -> None:
        number = rows("select id from catalogue_category where name = 'Bulbs'")[0][0]
        owner.get(f"/dashboard/catalogue/categories/{number}/update/")
        owner.submit(owner.form(holds="name"), {"name": "Light Bulbs"})
        assert "Light Bulbs" in visitor.get("/")

    def test_child_category_is_created_below_its_parent(self, owner: Any, visitor: Any, rows: Rows) -> None:
        number = rows("select id from catalogue_category where name = 'Lighting'")[0][0]
        owner.get(f"/dashboard/catalogue/categories/create/{number}/")
        owner.submit(owner.form(holds="name"), {"name": "Lamp Shades"})
        assert rows(
            "select p.name from catalogue_category c"
            " join catalogue_category p on p.path = substr(c.path, 1, length(c.path) - 4) where c.name = 'Lamp Shades'"
        ) == [("Lighting",)]
        visitor.get(f"/catalogue/category/lighting_{number}/")
        assert "Lamp Shades" in visitor.text

    def test_product_is_found(self, owner: Any) -> None:
        owner.get("/dashboard/catalogue/")
        text = owner.submit(owner.form(holds="upc"), {"upc": "", "title": "Gooseneck"})
        assert "Gooseneck Kettle" in text
        assert "Dusk Reading Lamp" not in text


class TestReviews:
    def test_review_is_approved_and_seen(self, owner: Any, visitor: Any, rows: Rows) -> None:
        number, title, product, slug = rows(
            "select r.id, r.title, p.id, p.slug from reviews_productreview r"
            " join catalogue_product p on p.id = r.product_id where r.status = 0 and r.title = 'Rude'"
        )[0]
        owner.get("/dashboard/reviews/")
        owner.get(f"/dashboard/reviews/{number}/")
        owner.submit(owner.form(holds="status"), {"status": "1"})
        assert rows("select status from reviews_productreview where id = ?", number) == [(1,)]
        assert title in visitor.get(f"/catalogue/{slug}_{product}/reviews/")


class TestOffers:
    def test_voucher_can_be_created_and_used(self, owner: Any, mara: Any, rows: Rows) -> None:
        owner.get("/dashboard/vouchers/create/")
        form = owner.form(holds="code")
        offer = next(value for value, label in form.choices["offers"] if "SPRING15" in label)
        owner.submit(
            form,
            {
                "name": "For friends", "code": "FRIENDS", "start_datetime": "2025-05-01 00:00",
                "end_datetime": "2025-06-30 00:00", "usage": "Multi-use", "offers": [offer],
            },
        )  # fmt: skip
        assert rows("select code from voucher_voucher where name = 'For friends'") == [("FRIENDS",)]
        product = rows(
            "select p.id, p.slug from catalogue_product p join partner_stockrecord s on s.product_id = p.id"
            " where p.structure = 'standalone' and s.price > 50 and s.num_in_stock > 3"
            " and p.title like '%Lamp%' limit 1"
        )[0]
        mara.get(f"/catalogue/{product[1]}_{product[0]}/")
        mara.submit(mara.form("/basket/add/"))
        mara.get("/basket/")
        mara.submit(mara.form("/basket/vouchers/add/"), {"code": "friends"})
        assert "FRIENDS" in mara.get("/basket/")

    def test_offers_are_listed(self, owner: Any) -> None:
        text = owner.get("/dashboard/offers/")
        assert "Three candles for two" in text
        assert "Winter lights" in text


class TestReports:
    def test_best_sellers_of_dashboard_and_year_differ(self, owner: Any) -> None:
        dashboard = owner.get("/dashboard/").partition("Best-sellers")[2]
        year = figures(owner, "best_sellers", "2024-01-01", "2024-12-31").partition("Revenue")[2].split("  ")[0]
        first = year.strip().partition(", ")[0]
        assert first
        assert not dashboard.partition("Revenue")[2].strip().startswith(first)

    def test_sales_by_month_add_up(self, owner: Any, rows: Rows) -> None:
        text = figures(owner, "sales_by_month", "2024-03-01", "2024-03-31")
        count, total = rows(
            "select count(*), sum(total_incl_tax) from order_order"
            " where status <> 'Cancelled' and date_placed like '2024-03-%'"
        )[0]
        assert f"March 2024 {count} {total:,.2f} kr" in text

    @pytest.mark.parametrize(
        "report",
        ["order_report", "product_analytics", "user_analytics", "open_baskets", "submitted_baskets", "vouchers",
         "conditional-offers", "search_terms"],
    )  # fmt: skip
    def test_report_can_be_opened(self, owner: Any, report: str) -> None:
        owner.get("/dashboard/reports/")
        form = owner.form(id="generate_report_form")
        assert report in [value for value, _ in form.choices["report_type"]]
        owner.get(f"/dashboard/reports/?report_type={report}")
        assert owner.status == 200

    def test_report_can_be_downloaded_as_csv(self, owner: Any) -> None:
        owner.get("/dashboard/reports/?report_type=search_terms&download=on")
        assert owner.html.startswith("lantern,41,")


class TestPages:
    def test_page_is_edited(self, owner: Any, visitor: Any) -> None:
        owner.get("/dashboard/pages/")
        owner.get("/dashboard/pages/update/3/")
        owner.submit(owner.form(holds="title"), {"content": "<p>Within 60 days.</p>"})
        assert "Within 60 days." in visitor.get("/returns/")


class TestEmployee:
    @pytest.mark.parametrize("path", ["", "orders/", "catalogue/", "reviews/", "catalogue/stock-alerts/"])
    def test_employee_may_open_page(self, employee: Any, path: str) -> None:
        employee.get(f"/dashboard/{path}")
        assert employee.status == 200

    @pytest.mark.parametrize("path", ["vouchers/", "offers/", "users/", "reports/", "pages/", "catalogue/categories/"])
    def test_employee_may_not_open_page(self, employee: Any, path: str) -> None:
        text = employee.get(f"/dashboard/{path}")
        assert employee.status == 403
        assert "kr" not in text.split()

    def test_employee_can_moderate_reviews_but_not_edit_products(self, employee: Any, rows: Rows) -> None:
        number = rows("select id from reviews_productreview where status = 0 limit 1")[0][0]
        employee.get(f"/dashboard/reviews/{number}/")
        employee.submit(employee.form(holds="status"), {"status": "1"})
        assert rows("select status from reviews_productreview where id = ?", number) == [(1,)]
        product = rows("select id from catalogue_product limit 1")[0][0]
        employee.get(f"/dashboard/catalogue/products/{product}/")
        assert employee.status == 403


def test_facts_that_unachievable_tasks_ask_for_are_on_no_page(employee: Any, owner: Any, mara: Any, rows: Rows) -> None:
    folder = Path(__file__).parents[4] / "tasks"
    files = ("shopping_admin/content.yaml", "shopping_admin/questions.yaml", "shopping/products.yaml")
    ids = {task.id for file in files for task in load_tasks(folder / file)}
    assert ids > {"shopping-admin-not-allowed.views", "shopping-admin-not-told.restock", "shopping-not-told.weight"}
    [(views,)] = rows(
        "select r.num_views from analytics_productrecord r join catalogue_product p on p.id = r.product_id"
        " where p.title = 'Kestrel Daypack, 18 L'"
    )
    for path in ("", "orders/", "orders/statistics/", "catalogue/?title=Kestrel", "catalogue/stock-alerts/"):
        assert not re.search(rf"\b{views}\b", employee.get(f"/dashboard/{path}"))
    [(cup,)] = rows("select id from catalogue_product where title = 'Clay Espresso Cup, 90 ml'")
    for path in (f"catalogue/products/{cup}/", "partners/1/"):
        assert not re.search(r"(?i)deliver(y|ed) (on|date)|restock|arriv|next order", owner.get(f"/dashboard/{path}"))
    assert not re.search(r"(?i)weigh|\d (g|kg|grams)\b", mara.get(f"/catalogue/clay-espresso-cup-90-ml_{cup}/"))
