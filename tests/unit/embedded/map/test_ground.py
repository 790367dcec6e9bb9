"""Ground and places of the map: reproducible, complete, consistent with the world; routes are the quickest."""

from __future__ import annotations

from collections import Counter
from importlib.resources import files
from pathlib import Path

import networkx
import pytest

from pytest_webarena.embedded import homepage, landscape, world
from pytest_webarena.embedded import map as atlas
from pytest_webarena.embedded.chance import Chance
from pytest_webarena.embedded.map.ground import ground, metres_between
from pytest_webarena.embedded.map.places import CATEGORIES, places
from pytest_webarena.embedded.map.routing import ENGINES, Network

NETWORK = Network(
    {node.id: (node.lat, node.lon) for node in ground().nodes},
    [(edge.a, edge.b, edge.metres, edge.kind, edge.name) for edge in ground().edges],
)


def test_two_seeds_are_equal(tmp_path: Path, data_dir: Path) -> None:
    atlas.seed(tmp_path)

    assert (tmp_path / "main.sqlite3").read_bytes() == (data_dir / "main.sqlite3").read_bytes()


def test_chance_is_reproducible() -> None:
    chance = Chance("a text")

    assert [chance.whole(1, 100) for _ in range(5)] == [48, 45, 41, 20, 38]
    assert chance.some_of("abc", 5) == ["a", "c", "b"]


def test_every_town_has_places_of_every_category() -> None:
    found = places()

    assert 1_900 < len(found) < 2_600
    for town in world.TOWNS:
        assert set(CATEGORIES) <= {place.category for place in found if place.town == town.name}
    addresses = Counter(place.address for place in found if place.number)
    assert max(addresses.values()) == 1


def test_places_of_the_world_are_on_the_map() -> None:
    found = {place.name: place for place in places()}
    towns = {town.key: town.name for town in world.TOWNS}

    for firm in world.BUSINESSES:
        place = found[firm.name]
        assert place.address.startswith(f"{firm.street}, {towns[firm.town]} "), firm.name
        assert place.phone == firm.phone
    assert found["Merrow Cider House"].hours == "Thu-Fri 13:00-19:00, Sat 11:00-19:00"
    assert {each.name for each in (*landscape.BUILDINGS,)} <= set(found)
    assert {village.name for village in landscape.VILLAGES} <= set(found)


def test_library_address_equals_the_manuals() -> None:
    library = next(place for place in places() if place.name == "Regional Library")
    manual = files(homepage).joinpath("manuals", "library.md").read_text(encoding="utf-8")

    assert library.address.startswith(f"{world.LIBRARY_STREET}, Aldersey ")
    assert f"Regional Library stands in {library.street} in " in manual


def test_hut_on_a_hill_is_nearer_to_it_than_the_town() -> None:
    found = {place.name: place for place in places()}
    hut, hill, town = (found[name] for name in ("Cairn Hut", "High Cairn", "Lunnet"))

    assert hut.street == ""
    assert metres_between(hut.lat, hut.lon, hill.lat, hill.lon) < metres_between(hut.lat, hut.lon, town.lat, town.lon)


def test_all_places_are_connected() -> None:
    graph = networkx.Graph([(edge.a, edge.b) for edge in ground().edges])

    assert networkx.is_connected(graph)
    assert {place.node for place in places()} <= set(graph)


@pytest.mark.parametrize("engine", ENGINES)
def test_routes_are_as_quick_as_those_of_networkx(engine: str) -> None:
    """Compares with networkx on the same ground for fifty pairs of places."""
    speeds = ENGINES[engine]
    graph = networkx.Graph()
    for edge in ground().edges:
        if edge.kind in speeds:
            seconds = 35 * 60.0 if edge.kind == "ferry" else edge.metres * 3.6 / speeds[edge.kind]
            if seconds < graph.get_edge_data(edge.a, edge.b, {"seconds": 1e9})["seconds"]:
                graph.add_edge(edge.a, edge.b, seconds=seconds)
    chance = Chance(f"pairs for {engine}")
    for _ in range(50):
        start, end = chance.one_of(places()).node, chance.one_of(places()).node
        route = NETWORK.route(start, end, engine)
        known = start in graph and end in graph and networkx.has_path(graph, start, end)
        assert (route is not None) is known or start == end
        if route and known:
            assert route.seconds == pytest.approx(networkx.dijkstra_path_length(graph, start, end, "seconds"))
            assert route.metres == sum(step.metres for step in route.steps)
            assert route.nodes[0] == start
            assert route.nodes[-1] == end


def test_route_to_the_island_uses_the_ferry() -> None:
    found = {place.name: place.node for place in places()}
    route = NETWORK.route(found["Brackwater"], found["Gorsehythe"], "foot")

    assert route is not None
    assert "Take the Sall Ferry" in [step.text for step in route.steps]
    assert NETWORK.route(found["Brackwater"], found["Brackwater"], "car") is not None
