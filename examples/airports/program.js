const codes = ["LPB", "ADD"];
const airports = await Promise.all(codes.map((iata) => tools.world.getAirport({ iata, fields: ["elevationFeet"] })));
const [first, second] = airports.map((airport) => airport.elevationFeet);
return { higher: first > second ? codes[0] : codes[1], feet: Math.abs(first - second) };
