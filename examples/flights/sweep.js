const { flights } = await tools.flights.query({ fields: ["origin"], limit: {{n}} });
const codes = [...new Set(flights.map((flight) => flight.origin))];
const airports = await Promise.all(codes.map((iata) => tools.airports.get({ iata })));
const stateOf = new Map(airports.filter(Boolean).map((airport) => [airport.iata, airport.state]));

const counts = new Map();
for (const { origin } of flights) {
  const state = stateOf.get(origin);
  if (state) counts.set(state, (counts.get(state) ?? 0) + 1);
}
const [[state, number]] = [...counts].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1));
return { state, flights: number };
