L.OSM.Mapnik = {options: {url: 'https://tile.openstreetmap.example/{z}/{x}/{y}.png'}};
