"""Script of the map's pages: tiles, directions and search, drawn where OpenStreetMap's own scripts draw them."""

MAP_SCRIPT = """
addEventListener("DOMContentLoaded", async () => {
  const sidebar = document.getElementById("sidebar_content");
  const given = new URLSearchParams(location.search);
  const tile = document.createElement("img");
  tile.className = "leaflet-tile";
  tile.onload = () => tile.classList.add("leaflet-tile-loaded");
  setTimeout(() => {
    tile.src = "/tile/0/0/0.png";
    document.getElementById("map").append(tile);
  }, 400);  // Leaflet draws after an animation
  if (location.pathname === "/directions" && given.get("route")) {
    const points = given.get("route").split(";").map(point => point.split(",").reverse().join(",")).join(";");
    const reply = await fetch("/osrm/routed-car/route/v1/driving/" + points + "?overview=false&steps=true");
    if (!reply.ok) { sidebar.textContent = "Couldn't find a route between those two places."; return; }
    const route = (await reply.json()).routes[0];
    const minutes = String(Math.round(route.duration / 60)).padStart(2, "0");
    sidebar.textContent = `Directions Distance: ${(route.distance / 1000).toFixed(1)}km. Time: 0:${minutes}.`;
  }
  if (location.pathname === "/search") {
    const reply = await fetch("/geocoder/search_osm_nominatim?query=" + encodeURIComponent(given.get("query")));
    sidebar.innerHTML = "Search Results " + await reply.text();
  }
});
"""
