from collections import defaultdict

fields = ["origin", "destination", "delay"]
first = await tools.flights.query(fields=fields)
rest = await asyncio.gather(
    *(tools.flights.query(fields=fields, offset=offset) for offset in range(1000, first["total"], 1000))
)
flights = [flight for page in [first, *rest] for flight in page["flights"]]

codes = list(dict.fromkeys(code for flight in flights for code in (flight["origin"], flight["destination"])))
airports = await asyncio.gather(*(tools.airports.get(iata=code) for code in codes))
state_of = {airport["iata"]: airport["state"] for airport in airports if airport}

pairs = defaultdict(lambda: [0, 0])
for flight in flights:
    origin, destination = state_of.get(flight["origin"]), state_of.get(flight["destination"])
    if not origin or not destination or origin == destination:
        continue
    pair = pairs[f"{origin}>{destination}"]
    pair[0] += 1
    pair[1] += flight["delay"]

means = [
    {"pair": pair, "flights": count, "meanDelay": round(minutes / count, 2)}
    for pair, (count, minutes) in pairs.items()
    if count >= 50
]
sorted(means, key=lambda row: -row["meanDelay"])[:5]
