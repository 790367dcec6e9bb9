var vehicleTypePortMapping = {
  "car": "5000",
  "bike": ":5001",
  "foot": "__OSMFootSuffix__"
}
