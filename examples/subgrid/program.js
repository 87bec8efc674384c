const [feature, codes] = await Promise.all([tools.features.get({ id: "css-subgrid" }), tools.regions.list({})]);
const usages = await Promise.all(codes.map((code) => tools.regions.getUsage({ code, nonzeroOnly: true })));

const shares = usages.map(({ data }, index) => {
  let share = 0;
  for (const [browser, versions] of Object.entries(data)) {
    for (const [version, percent] of Object.entries(versions)) {
      if (feature.stats[browser]?.[version]?.startsWith("y")) share += percent;
    }
  }
  return { region: codes[index], share: Math.round(share * 100) / 100 };
});

shares.sort((a, b) => a.share - b.share || (a.region < b.region ? -1 : 1));
return { regions: shares.length, lowest: shares.slice(0, 5) };
