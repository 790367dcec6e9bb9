"""The accessibility tree as text: printed nodes, omitted nodes and positions."""

from __future__ import annotations

from typing import Any

from pytest_webarena.browser.config import ObservationConfig
from pytest_webarena.browser.observation.axtree import RenderedTree, render_tree
from pytest_webarena.browser.observation.snapshot import Box, read_snapshot
from tests.cases import each_case

VIEW = (0, 0, 1280, 720)
SHOWN = (10, 10, 100, 20)
BELOW = (10, 900, 100, 20)


def bare_nodes(count: int) -> dict[str, Any]:
    """Return parts of a snapshot for nodes that are all children of the first."""
    return {"parentIndex": [-1, *[0] * (count - 1)], "attributes": [[] for _ in range(count)]}


class Page:
    """Builds the browser's responses: an accessibility tree and its layout snapshot."""

    def __init__(self) -> None:
        self.nodes: list[dict[str, Any]] = []
        self.dom: list[tuple[int, str]] = [(1, "#document")]
        self.boxes: list[tuple[int, tuple[float, ...]]] = [(0, VIEW)]
        self.scroll = (0, 0)
        self.add(1, "RootWebArea", "Title", parent=None, dom=None)

    def add(
        self,
        id: int,
        role: str,
        name: str | None = "",
        *,
        parent: int | None = 1,
        box: tuple[float, ...] | None = SHOWN,
        dom: str | None = "DIV",
        value: Any = None,
        ignored: bool = False,
        **properties: Any,
    ) -> Page:
        """Add a node; ``dom=None``: in no document (part of a control); ``box=None``: without a box."""
        node: dict[str, Any] = {
            "nodeId": str(id),
            "backendDOMNodeId": id,
            "ignored": ignored,
            "role": {"value": role},
            "childIds": [],
            "properties": [{"name": key, "value": {"value": each}} for key, each in properties.items()],
        }
        if name is not None:
            node["name"] = {"value": name}
        if value is not None:
            node["value"] = {"value": value}
        if parent is not None:
            next(each for each in self.nodes if each["nodeId"] == str(parent))["childIds"].append(str(id))
        self.nodes.append(node)
        if dom is not None:
            self.dom.append((id, dom))
            if box is not None:
                self.boxes.append((len(self.dom) - 1, box))
        return self

    def snapshot(self) -> dict[str, Any]:
        names = sorted({name for _, name in self.dom})
        return {
            "strings": ["main", *names],
            "documents": [
                {
                    "frameId": 0,
                    "scrollOffsetX": self.scroll[0],
                    "scrollOffsetY": self.scroll[1],
                    "contentWidth": 1280,
                    "contentHeight": 3000,
                    "nodes": {
                        "backendNodeId": [id for id, _ in self.dom],
                        "nodeName": [1 + names.index(name) for _, name in self.dom],
                        **bare_nodes(len(self.dom)),
                    },
                    "layout": {
                        "nodeIndex": [node for node, _ in self.boxes],
                        "bounds": [list(box) for _, box in self.boxes],
                        "styles": [[] for _ in self.boxes],
                    },
                }
            ],
        }

    def render(self, **config: Any) -> RenderedTree:
        return render_tree({"main": self.nodes}, read_snapshot(self.snapshot()), ObservationConfig(**config))

    def lines(self, **config: Any) -> list[str]:
        first, *lines = self.render(**config).lines
        assert first == "[1] RootWebArea 'Title'"
        return lines


def test_a_line_holds_id_role_name_and_properties() -> None:
    page = Page().add(2, "button", "It's", hasPopup="menu", expanded=False, focusable=True, level=2, invalid="false")
    assert page.lines() == ['\t[2] button "It\'s" hasPopup: menu expanded: False']


@each_case("role", ["generic", "img", "list", "paragraph", "LabelText", "Legend", "navigation"])
def test_nameless_plain_node_is_replaced_by_its_children(role: str) -> None:
    page = Page().add(2, role).add(3, "button", "B", parent=2).add(4, role, "named")
    assert page.lines() == ["\t[3] button 'B'", f"\t[4] {role} 'named'"]


def test_ignored_node_is_replaced_by_its_children() -> None:
    assert Page().add(2, "none", None, ignored=True).add(3, "link", "L", parent=2).lines() == ["\t[3] link 'L'"]


def test_a_plain_node_with_a_property_is_printed_but_a_list_item_is_not() -> None:
    page = Page().add(2, "generic", "", live="polite").add(3, "listitem", "", live="polite")
    assert page.lines() == ["\t[2] generic '' live: polite"]


def test_only_what_overlaps_the_viewport_is_printed() -> None:
    page = (
        Page()
        .add(2, "main", "Out", box=BELOW)
        .add(3, "button", "In", parent=2)
        .add(4, "button", "Edge", box=(1279, 719, 50, 50))
        .add(5, "button", "OffArchive", box=(1280, 0, 50, 50))
        .add(6, "button", "Flat", box=(10, 10, 0, 20))
    )
    assert page.lines() == ["\t[3] button 'In'", "\t[4] button 'Edge'"]  # the child of a hidden node is moved up
    assert len(page.lines(current_viewport_only=False)) == 5


def test_only_elements_at_the_scroll_position_are_printed() -> None:
    page = Page().add(2, "button", "Top").add(3, "button", "Low", box=BELOW)
    page.scroll = (0, 720)
    assert page.lines() == ["\t[3] button 'Low'"]


def test_layout_nodes_and_blank_text_are_dropped() -> None:
    page = (
        Page()
        .add(2, "StaticText", "Text", dom="#text")
        .add(3, "InlineTextBox", "Text", parent=2, dom=None)
        .add(4, "LineBreak", "\n", dom="BR")
        .add(5, "StaticText", "  ", dom="#text")
    )
    assert page.lines() == ["\t[2] StaticText 'Text'"]


def test_text_is_left_out_only_when_its_element_has_it_as_name() -> None:
    page = (
        Page()
        .add(2, "link", "Order 10")
        .add(3, "StaticText", "Order ", parent=2, dom="#text")
        .add(4, "StaticText", "10", parent=2, dom="#text")
        .add(5, "StaticText", "1", dom="#text")
        .add(6, "region", "Results for on")
        .add(7, "StaticText", "on", parent=6, dom="#text")
    )
    assert page.lines() == [
        "\t[2] link 'Order 10'",
        "\t[5] StaticText '1'",
        "\t[6] region 'Results for on'",
        "\t\t[7] StaticText 'on'",
    ]


def test_fields_show_their_value_once() -> None:
    page = (
        Page()
        .add(2, "textbox", "Name", dom="INPUT", value="Ada")
        .add(3, "generic", "", parent=2, dom=None)
        .add(4, "StaticText", "Ada", parent=3, dom=None)
        .add(5, "slider", "Volume", dom="INPUT", value=30)
        .add(6, "textbox", "Empty", dom="TEXTAREA", value="")
        .add(7, "generic", "Rich", value="rich text", editable="richtext")
        .add(8, "StaticText", "rich text", parent=7, dom="#text")
    )
    assert page.lines() == [
        "\t[2] textbox 'Name' value: 'Ada'",
        "\t[5] slider 'Volume' value: 30",
        "\t[6] textbox 'Empty'",
        "\t[7] generic 'Rich'",
        "\t\t[8] StaticText 'rich text'",
    ]


def drop_down(options: int, chosen: int, **place: Any) -> Page:
    page = Page().add(2, "combobox", "Country", dom="SELECT", value=f"C{chosen}", **place)
    page.add(3, "MenuListPopup", "", parent=2, dom=None)
    for n in range(options):
        page.add(10 + n, "option", f"C{n}", parent=3, dom="OPTION", box=None, selected=n == chosen)
    return page


def test_options_of_a_closed_list_are_shown_with_it() -> None:
    assert drop_down(2, 1).lines() == [
        "\t[2] combobox 'Country' value: 'C1'",
        "\t\t[10] option 'C0' selected: False",
        "\t\t[11] option 'C1' selected: True",
    ]
    assert drop_down(2, 1, box=BELOW).lines() == []


def test_long_list_shows_first_options_and_the_selected_one() -> None:
    assert drop_down(9, 7).lines(max_options=2) == [
        "\t[2] combobox 'Country' value: 'C7'",
        "\t\t[10] option 'C0' selected: False",
        "\t\t[11] option 'C1' selected: False",
        "\t\t[17] option 'C7' selected: True",
        "\t\t… 6 more options; to choose one of them, type its text into [2]",
    ]


def test_element_without_box_is_shown_if_a_child_is_visible() -> None:
    page = (
        Page()
        .add(2, "button", "Shown", box=None)
        .add(3, "StaticText", "Shown", parent=2, dom="#text")
        .add(4, "button", "Gone", box=None)
        .add(5, "StaticText", "Gone", parent=4, dom="#text", box=BELOW)
    )
    assert page.lines() == ["\t[2] button 'Shown'"]


def test_link_urls_are_printed_on_request() -> None:
    page = Page().add(2, "link", "L", url="http://a.test/")
    assert page.lines() == ["\t[2] link 'L'"]
    assert page.lines(link_urls=True) == ["\t[2] link 'L' url: http://a.test/"]


def test_ids_map_to_nodes_and_the_focus_is_reported() -> None:
    rendered = Page().add(7, "textbox", "Name", dom="INPUT", focused=True).add(8, "generic", "").render()
    assert set(rendered.elements) == {"1", "7"}
    info = rendered.elements["7"]
    assert (info.backend, info.node_name, info.role, info.name) == (7, "INPUT", "textbox", "Name")
    assert rendered.focused == "[7] textbox 'Name'"
    assert rendered.title == "Title"


def test_lone_surrogates_are_replaced() -> None:
    rendered = Page().add(2, "button", "half \ud83d").render()
    assert rendered.lines[1] == "\t[2] button 'half ?'"
    assert "\n".join(rendered.lines).encode()


def test_deep_tree_is_rendered() -> None:
    page = Page()
    for n in range(2, 5000):
        page.nodes.append(
            {
                "nodeId": str(n),
                "backendDOMNodeId": n,
                "ignored": True,
                "role": {"value": "none"},
                "childIds": [str(n + 1)],
            }
        )
    page.nodes[0]["childIds"] = ["2"]
    page.nodes.append(
        {"nodeId": "5000", "backendDOMNodeId": 5000, "role": {"value": "button"}, "name": {"value": "Deep"}}
    )
    page.dom.append((5000, "BUTTON"))
    page.boxes.append((1, SHOWN))
    assert page.lines() == ["\t[5000] button 'Deep'"]


def test_frame_document_is_nested_and_clipped_to_its_frame() -> None:
    page = Page().add(2, "Iframe", "F", dom="IFRAME", box=(100, 600, 200, 300))
    snapshot = page.snapshot()
    snapshot["strings"] += ["child", "BUTTON"]
    child = len(snapshot["strings"]) - 2
    snapshot["documents"][0]["nodes"]["contentDocumentIndex"] = {"index": [1], "value": [1]}
    snapshot["documents"].append(
        {
            "frameId": child,
            "scrollOffsetY": 50,
            "nodes": {
                "backendNodeId": [50, 51, 52, 53],
                "nodeName": [snapshot["strings"].index("#document"), *[child + 1] * 3],
                **bare_nodes(4),
            },
            "layout": {
                "nodeIndex": [0, 1, 2, 3],
                # Scrolled out above, in view, inside the frame but below the window.
                "bounds": [[0, 0, 200, 300], [0, 0, 50, 20], [0, 60, 50, 20], [0, 250, 50, 20]],
                "styles": [[]] * 4,
            },
        }
    )
    inner: list[dict[str, Any]] = [
        {
            "nodeId": "50",
            "backendDOMNodeId": 50,
            "role": {"value": "RootWebArea"},
            "name": {"value": "Inner"},
            "childIds": ["51", "52", "53"],
        },
        *(
            {"nodeId": str(id), "backendDOMNodeId": id, "role": {"value": "button"}, "name": {"value": f"B{id}"}}
            for id in (51, 52, 53)
        ),
    ]
    layouts = read_snapshot(snapshot)
    assert layouts[1].window == Box(100, 600, 200, 300)
    rendered = render_tree({"main": page.nodes, "child": inner}, layouts, ObservationConfig())
    assert rendered.lines == (
        "[1] RootWebArea 'Title'",
        "\t[2] Iframe 'F' scroll: 0.2 screens above",
        "\t\t[52] button 'B52'",
    )
    bare = render_tree({"main": page.nodes}, layouts, ObservationConfig())
    assert bare.lines == ("[1] RootWebArea 'Title'", "\t[2] Iframe 'F' scroll: 0.2 screens above")


def test_empty_snapshot_has_no_documents() -> None:
    assert read_snapshot({"documents": [], "strings": []}) == ()
