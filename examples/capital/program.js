const country = await tools.world.getCountry({ code: "KG", fields: ["capital", "currencies"] });
return { capital: country.capital[0], currencies: Object.keys(country.currencies) };
