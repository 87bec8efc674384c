const fields = ["origin", "destination", "delay"];
const first = await tools.flights.query({ fields });
const offsets = Array.from({ length: Math.ceil(first.total / 1000) - 1 }, (_, page) => (page + 1) * 1000);
const rest = await Promise.all(offsets.map((offset) => tools.flights.query({ fields, offset })));
const flights = [first, ...rest].flatMap((page) => page.flights);

const codes = [...new Set(flights.flatMap((flight) => [flight.origin, flight.destination]))];
const airports = await Promise.all(codes.map((iata) => tools.airports.get({ iata })));
const stateOf = new Map(airports.filter(Boolean).map((airport) => [airport.iata, airport.state]));

const pairs = new Map();
for (const { origin, destination, delay } of flights) {
  const from = stateOf.get(origin);
  const to = stateOf.get(destination);
  if (!from || !to || from === to) continue;
  const pair = pairs.get(`${from}>${to}`) ?? { flights: 0, minutes: 0 };
  pair.flights += 1;
  pair.minutes += delay;
  pairs.set(`${from}>${to}`, pair);
}

return [...pairs]
  .filter(([, pair]) => pair.flights >= 50)
  .map(([pair, { flights, minutes }]) => ({ pair, flights, meanDelay: Math.round((minutes / flights) * 100) / 100 }))
  .sort((a, b) => b.meanDelay - a.meanDelay)
  .slice(0, 5);
