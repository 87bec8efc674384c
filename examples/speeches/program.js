const addresses = await tools.speeches.list({ from: 1945, to: 2020 });
const speeches = await Promise.all(addresses.map(({ id }) => tools.speeches.get({ id })));

const rows = speeches.map(({ text }, index) => {
  const words = text.toLowerCase().match(/[a-z']+/g);
  const count = words.filter((word) => word === "inflation").length;
  return { id: addresses[index].id, count, rate: (count / words.length) * 1000 };
});

return {
  addresses: rows.length,
  never: rows.filter(({ count }) => count === 0).length,
  top: rows
    .sort((a, b) => b.rate - a.rate)
    .slice(0, 5)
    .map(({ id, count, rate }) => ({ id, count, perThousand: Math.round(rate * 1000) / 1000 })),
};
