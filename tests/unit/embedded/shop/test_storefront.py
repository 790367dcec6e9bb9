"""Actions of customers through links and forms."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

import pytest

PRODUCT = re.compile(r"/catalogue/[a-z0-9-]+_\d+/")
Rows = Callable[..., list[tuple[Any, ...]]]
SIMPLE = """select p.id, p.slug, p.title, s.price from catalogue_product p
 join partner_stockrecord s on s.product_id = p.id where p.structure = 'standalone'
 and s.num_in_stock > 10 and p.id not in
 (select product_id from catalogue_product_product_options)
 and s.price < 40 order by p.id limit 1 offset ?"""


def put_in_basket(visitor: Any, rows: Rows, offset: int = 0, quantity: int = 1) -> tuple[Any, ...]:
    product = rows(SIMPLE, offset)[0]
    visitor.get(f"/catalogue/{product[1]}_{product[0]}/")
    visitor.submit(visitor.form("/basket/add/"), {"quantity": str(quantity)})
    return product


class TestBrowsing:
    def test_home_shows_departments_and_shelves(self, visitor: Any) -> None:
        text = visitor.get("/")
        assert visitor.status == 200
        for heading in ("Kitchen & Table", "Toys & Games", "New arrivals", "Customers' favourites"):
            assert heading in text

    def test_search_box_has_a_default_text(self, visitor: Any) -> None:
        visitor.get("/")
        assert dict(visitor.form("/search/").fields)["q"] == "reading lamp"

    def test_category_count_equals_the_database(self, visitor: Any, rows: Rows) -> None:
        visitor.get("/")
        text = visitor.follow("Lanterns")
        number = visitor.url.rstrip("/").rpartition("_")[2]
        count = rows("select count(*) from catalogue_productcategory where category_id = ?", number)[0][0]
        assert f"{count} results" in text

    def test_department_includes_its_categories(self, visitor: Any, rows: Rows) -> None:
        visitor.get("/")
        text = visitor.follow("Lighting")
        count = rows(
            "select count(*) from catalogue_productcategory c join catalogue_category g on g.id = c.category_id"
            " where g.path like (select path || '%' from catalogue_category where name = 'Lighting')"
        )[0][0]
        assert f"{count} results" in text

    def test_facets_can_be_added_and_removed(self, visitor: Any, rows: Rows) -> None:
        everything = rows("select count(*) from catalogue_product where parent_id is null")[0][0]
        brand = "select count(distinct product_id) from catalogue_productattributevalue where value_text = ?"
        wickwire, copperfell = rows(brand, "Wickwire")[0][0], rows(brand, "Copperfell")[0][0]
        assert 0 < wickwire < everything
        assert f"{everything} results" in visitor.get("/catalogue/")
        assert f"{wickwire} results" in visitor.get("/catalogue/?selected_facets=brand:Wickwire")
        both = visitor.get("/catalogue/?selected_facets=brand:Wickwire&selected_facets=brand:Copperfell")
        assert f"{wickwire + copperfell} results" in both
        lit = visitor.get("/catalogue/?selected_facets=brand:Wickwire&selected_facets=type:Lighting")
        candles = rows(
            brand + " and product_id in (select p.id from catalogue_product p join catalogue_productclass k"
            " on k.id = p.product_class_id where k.name = 'Homeware')",
            "Wickwire",
        )[0][0]
        assert f"{wickwire - candles} results" in lit
        visitor.get("/catalogue/?selected_facets=brand:Wickwire")
        assert f"{everything} results" in visitor.follow("Wickwire")

    @pytest.mark.parametrize(
        ("sort", "order"),
        [("price-asc", "price"), ("price-desc", "price desc"), ("title-asc", "lower(title)")],
    )
    def test_search_sort_orders(self, visitor: Any, rows: Rows, sort: str, order: str) -> None:
        visitor.get("/search/?q=kettle&sort_by=" + sort)
        shown = [text for href, text in visitor.page.links if href.startswith("/catalogue/") and "Kettle," in text]
        expected = rows(
            "select title from (select p.id, title,"
            " (select min(price) from partner_stockrecord s where s.product_id = p.id) as price"
            f" from catalogue_product p where title like '%kettle%') order by {order}, id limit 20"
        )
        first = [title for (title,) in expected if "Kettle," in title]
        assert shown
        assert shown[: len(first)][:5] == first[:5]

    def test_search_requires_all_words(self, visitor: Any) -> None:
        text = visitor.get("/search/?q=gooseneck+kettle")
        assert 'Products matching "gooseneck kettle"' in text
        titles = [text for href, text in visitor.page.links if PRODUCT.fullmatch(href) and text]
        assert titles
        assert all("Gooseneck Kettle" in title for title in titles)
        assert "No products found" in visitor.get("/search/?q=" + quote("reading lamp kettle"))

    def test_search_by_author_and_article_number(self, visitor: Any) -> None:
        assert "Murder at the Blue Ewer" in visitor.get("/search/?q=dorothea+pym")
        assert "1 result" in visitor.get("/search/?q=LL100007")

    def test_product_list_is_paged(self, visitor: Any) -> None:
        first = visitor.get("/catalogue/?sort_by=price-asc")
        assert "showing 1 to 24" in first
        assert "showing 25 to 48" in visitor.follow("next")
        assert "The given page number was invalid" in visitor.get("/catalogue/?page=9999")

    def test_every_product_picture_is_drawn(self, visitor: Any) -> None:
        visitor.get("/catalogue/")
        pictures = [url for url in visitor.page.references if url.startswith("/media/products/")]
        assert len(pictures) == 24
        for url in pictures:
            visitor.get(url)
            assert visitor.status == 200
            assert visitor.html.startswith("<svg")
        visitor.get("/media/products/kettle-nocolour-1-a.svg")
        assert visitor.status == 404


class TestReviews:
    def test_review_waits_for_moderation(self, mara: Any, rows: Rows) -> None:
        number, slug = rows(
            "select id, slug from catalogue_product where structure = 'standalone' and id not in"
            " (select product_id from reviews_productreview where user_id = 1) limit 1"
        )[0]
        mara.get(f"/catalogue/{slug}_{number}/")
        mara.follow("Write a review")
        mara.submit(mara.form(id="add_review_form"), {"title": "Quiet enough", "score": "4", "body": "Grinds well."})
        assert rows("select score, title, status, user_id from reviews_productreview order by id desc limit 1") == [
            (4, "Quiet enough", 0, 1)
        ]
        assert "Quiet enough" not in mara.get(f"/catalogue/{slug}_{number}/")

    def test_visitors_can_not_review(self, visitor: Any, rows: Rows) -> None:
        number, slug = rows("select id, slug from catalogue_product where structure = 'standalone' limit 1")[0]
        visitor.get(f"/catalogue/{slug}_{number}/")
        assert not any("Write a review" in text for _, text in visitor.page.links)

    def test_stars_shown_are_the_mean(self, visitor: Any, rows: Rows) -> None:
        number, slug, mean, count = rows(
            "select p.id, p.slug, avg(r.score), count(*) from catalogue_product p join reviews_productreview r"
            " on r.product_id = p.id where r.status = 1 group by p.id"
            " having count(*) > 6 and avg(score) * 20 % 2 <> 1 limit 1"
        )[0]
        assert f"{mean:.1f} of 5, {count} reviews" in visitor.get(f"/catalogue/{slug}_{number}/")


class TestBuying:
    def test_basket_counts_and_updates(self, visitor: Any, rows: Rows) -> None:
        product = put_in_basket(visitor, rows, quantity=2)
        text = visitor.get("/basket/")
        assert product[2] in text
        assert f"{product[3] * 2:,.2f} kr" in text
        visitor.submit(visitor.form(id="basket_formset"), {"form-0-quantity": "3"})
        assert f"{product[3] * 3:,.2f} kr" in visitor.get("/basket/")
        visitor.submit(visitor.form(id="basket_formset"), {"form-0-DELETE": "on"})
        assert "Your basket is empty" in visitor.get("/basket/")

    def test_variants_go_into_the_basket_by_size(self, mara: Any, rows: Rows) -> None:
        number, slug = rows("select id, slug from catalogue_product where structure = 'parent' limit 1")[0]
        mara.get(f"/catalogue/{slug}_{number}/")
        form = mara.form("/basket/add/")
        child = form.choices["child_id"][1][0]
        mara.submit(form, {"child_id": child})
        title = rows("select title from catalogue_product where id = ?", child)[0][0]
        assert title in mara.get("/basket/")

    def test_product_options_are_stored_with_the_basket_line(self, mara: Any, rows: Rows) -> None:
        number, slug = rows(
            "select p.id, p.slug from catalogue_product p"
            " join catalogue_product_product_options o on o.product_id = p.id"
            " join partner_stockrecord s on s.product_id = p.id where o.option_id = 1 and s.num_in_stock > 5 limit 1"
        )[0]
        mara.get(f"/catalogue/{slug}_{number}/")
        mara.submit(mara.form("/basket/add/"), {"grind": "espresso"})
        assert rows("select value from basket_lineattribute") == [('"espresso"',)]

    def test_voucher_reduces_the_total(self, mara: Any, rows: Rows) -> None:
        product = put_in_basket(mara, rows, quantity=5)
        mara.get("/basket/")
        mara.submit(mara.form("/basket/vouchers/add/"), {"code": "welcome10"})
        used = rows("select count(*) from voucher_voucherapplication where user_id = 1 and voucher_id = 1")[0][0]
        text = mara.get("/basket/")
        assert ("WELCOME10" in text) == (not used)
        mara.submit(mara.form("/basket/vouchers/add/"), {"code": "FELLS20"})
        for code, why in (("WINTER20", "expired"), ("NOSUCH", "No voucher found")):
            mara.get("/basket/")
            assert why in mara.submit(mara.form("/basket/vouchers/add/"), {"code": code})
        assert product[2] in mara.get("/basket/")

    def test_checkout_creates_an_order_that_can_be_reordered(self, mara: Any, rows: Rows) -> None:
        before = rows("select count(*), max(number) from order_order")[0]
        product = put_in_basket(mara, rows, quantity=2)
        stock = rows("select num_in_stock - num_allocated from partner_stockrecord where product_id = ?", product[0])
        mara.get("/checkout/shipping-address/")
        address = next(form for form in mara.page.forms if ("action", "ship_to") in [*form.fields, *form.buttons])
        mara.submit(address, {"action": "ship_to"})
        assert "/checkout/shipping-method/" in mara.url
        express = next(form for form in mara.page.forms if ("method_code", "express") in form.fields + form.buttons)
        mara.submit(express, {"method_code": "express"})
        assert "Payment on invoice" in mara.text
        preview = mara.follow("Continue")
        total = product[3] * 2 + 9.9
        assert f"{total:,.2f} kr" in preview
        text = mara.submit(mara.form(id="place_order_form"))
        assert mara.url.endswith("/checkout/thank-you/")
        count, number = rows("select count(*), max(number) from order_order")[0]
        assert (count, number) != before
        assert count == before[0] + 1
        assert number in text
        assert rows("select shipping_code, status, total_incl_tax from order_order where number = ?", number) == [
            ("express", "Pending", pytest.approx(total))
        ]
        assert str(rows("select date_placed from order_order where number = ?", number)[0][0]).startswith(
            "2025-05-14 09:0"
        )
        stock_after = rows(
            "select num_in_stock - num_allocated from partner_stockrecord where product_id = ?", product[0]
        )
        assert stock_after[0][0] == stock[0][0] - 2
        assert product[2] in mara.get(f"/accounts/orders/{number}/")
        mara.submit(mara.form(id="order_form_"))
        assert product[2] in mara.get("/basket/")

    def test_anonymous_visitors_sign_in_at_checkout(self, visitor: Any, rows: Rows) -> None:
        put_in_basket(visitor, rows)
        visitor.get("/checkout/")
        assert "/accounts/login/" in visitor.url or "Email" in visitor.text
        assert rows("select count(*) from order_order where number > '100999'") == [(0,)]


class TestAccount:
    def test_wrong_password_is_refused(self, visitor: Any) -> None:
        visitor.get("/accounts/login/")
        text = visitor.submit(
            visitor.form(holds="login-username"),
            {"login-username": "mara.linden@tarnmark.test", "login-password": "wrong"},
            button=("login_submit", "Log In"),
        )
        assert "correct username and password" in text
        assert "Sign in or register" in text

    def test_sign_in_accepts_the_user_name(self, visitor: Any) -> None:
        visitor.get("/accounts/login/")
        visitor.submit(
            visitor.form(holds="login-username"),
            {"login-username": "tobin.ashgrove", "login-password": "slack-tide-79"},
            button=("login_submit", "Log In"),
        )
        assert "tobin.ashgrove@tarnmark.test" in visitor.get("/accounts/profile/")

    def test_order_history_is_long_and_filters(self, mara: Any, rows: Rows) -> None:
        count, first, last = rows(
            "select count(*), min(date_placed), max(date_placed) from order_order where user_id = 1"
        )[0]
        assert count > 35
        assert first[:7] >= "2023-05"
        assert last[:7] <= "2025-05"
        mara.get("/accounts/orders/")
        assert "Page 1 of 5" in mara.text
        number, day = rows("select number, substr(date_placed, 1, 10) from order_order where user_id = 1 limit 1")[0]
        text = mara.submit(mara.form(holds="order_number"), {"date_from": day, "date_to": day})
        assert number in text

    def test_orders_of_others_are_404(self, mara: Any, rows: Rows) -> None:
        number = rows("select number from order_order where user_id <> 1 limit 1")[0][0]
        mara.get(f"/accounts/orders/{number}/")
        assert mara.status == 404

    def test_product_can_be_added_to_a_wish_list(self, mara: Any, rows: Rows) -> None:
        number, slug, title, _ = rows(SIMPLE, 25)[0]
        mara.get("/accounts/wishlists/")
        assert "Summer on the fells" in mara.text
        mara.get(f"/catalogue/{slug}_{number}/")
        mara.follow("Presents")
        assert rows(
            "select w.name from wishlists_line l join wishlists_wishlist w on w.id = l.wishlist_id"
            " where l.product_id = ? and w.owner_id = 1", number,
        ) == [("Presents",)]  # fmt: skip
        mara.get("/accounts/wishlists/")
        assert title in mara.follow("Presents")

    def test_address_can_be_added(self, mara: Any, rows: Rows) -> None:
        mara.get("/accounts/addresses/add/")
        values = {
            "first_name": "Mara",
            "last_name": "Linden",
            "line1": "3 Ropewalk",
            "line4": "Corrin Bridge",
            "postcode": "TM3 2",
        }
        mara.submit(mara.form(holds="line1"), values)
        assert "3 Ropewalk" in mara.get("/accounts/addresses/")
        assert rows("select count(*) from address_useraddress where user_id = 1 and line4 = 'Corrin Bridge'") == [(1,)]

    def test_visitor_can_register(self, visitor: Any, rows: Rows) -> None:
        visitor.get("/accounts/login/")
        visitor.submit(
            visitor.form(holds="registration-email"),
            {
                "registration-email": "new@post.test",
                "registration-password1": "cold-harbour-77",
                "registration-password2": "cold-harbour-77",
            },
            button=("registration_submit", "Register"),
        )
        assert rows("select count(*) from auth_user where email = 'new@post.test'") == [(1,)]
        assert "Sign out" in visitor.text
