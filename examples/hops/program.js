const airport = await tools.world.getAirport({ iata: "KEF", fields: ["country", "region"] });
const [region, country] = await Promise.all([
  tools.world.getRegion({ code: airport.region }),
  tools.world.getCountry({ code: airport.country, fields: ["subregion", "languages"] }),
]);
return { region: region.name, subregion: country.subregion, languages: Object.values(country.languages).sort() };
