// The drawn map: what the server put into the attributes of #map, on the ground that it serves as GeoJSON.
const holder = document.getElementById("map");
if (holder) {
  holder.replaceChildren();
  const { lat, lon, zoom, markers, line } = holder.dataset;
  const map = L.map(holder, { zoomSnap: 1, minZoom: 8, maxZoom: 18 }).setView([+lat, +lon], +zoom);
  map.attributionControl.setPrefix("Leaflet");
  const looks = {
    sea: { fillColor: "#a9cfe3", fillOpacity: 1, weight: 0 }, island: { fillColor: "#f3f0e6", fillOpacity: 1, weight: 1, color: "#7fa9bf" },
    lake: { fillColor: "#a9cfe3", fillOpacity: 1, weight: 0 }, wood: { fillColor: "#cfe3c4", fillOpacity: 1, weight: 0 },
    river: { color: "#8fbfd8", weight: 3 }, road: { color: "#e0a43b", weight: 4 }, street: { color: "#b9b2a3", weight: 3 },
    lane: { color: "#cbb994", weight: 2.5 }, path: { color: "#a0785a", weight: 1.5, dashArray: "4 4" }, ferry: { color: "#4a7fa5", weight: 2, dashArray: "8 6" },
  };
  const layers = ["sea", "island", "wood", "lake", "river", "path", "lane", "street", "road", "ferry"];
  const layer = (feature) => layers.indexOf(feature.properties.kind);
  map.createPane("ground").style.zIndex = 300; // below ways and markers, which may be drawn before it comes
  const name = L.tooltip();
  fetch("/layers/ground.json").then((answer) => answer.json()).then((ground) => {
    ground.features.sort((a, b) => layer(a) - layer(b));
    L.geoJSON(ground, {
      pane: "ground",
      style: (feature) => looks[feature.properties.kind],
      // Leaflet's own tooltips listen for the focus, which makes each road a stop on the way of the Tab key.
      onEachFeature: (feature, layer) => layer.on({
        mousemove: (event) => { name.setContent(feature.properties.name).setLatLng(event.latlng).addTo(map); },
        mouseout: () => { name.remove(); },
      }),
    }).addTo(map);
  });
  const way = JSON.parse(line);
  if (way.length) map.fitBounds(L.polyline(way, { color: "#7b2cbf", weight: 5, opacity: .8 }).addTo(map).getBounds().pad(.1));
  for (const place of JSON.parse(markers)) {
    const mark = L.circleMarker([place.lat, place.lon], { radius: 8, color: "#fff", weight: 2, fillColor: "#c1121f", fillOpacity: 1 }).addTo(map);
    const words = document.createElement(place.id ? "a" : "span");
    if (place.id) words.href = "/place/" + place.id;
    words.textContent = place.name;
    mark.bindPopup(words);
  }
  map.on("contextmenu", (event) => { location.href = `/reverse?lat=${event.latlng.lat.toFixed(5)}&lon=${event.latlng.lng.toFixed(5)}`; });
  // The address always shows what is seen, so that it can be sent to somebody.
  map.on("moveend", () => {
    const here = new URL(location), middle = map.getCenter();
    if (here.pathname === "/") {
      for (const [key, value] of [["lat", middle.lat.toFixed(5)], ["lon", middle.lng.toFixed(5)], ["zoom", map.getZoom()]]) here.searchParams.set(key, value);
      history.replaceState(null, "", here);
    }
  });
}
