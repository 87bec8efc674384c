const licenses = await tools.licenses.list();
const texts = await Promise.all(licenses.map(({ id }) => tools.licenses.get({ id })));

const groups = new Map();
texts.forEach(({ licenseText }, index) => {
  const key = licenseText.toLowerCase().replace(/[^a-z0-9]/g, "");
  groups.set(key, [...(groups.get(key) ?? []), licenses[index].id]);
});

const shared = [...groups.values()].filter((ids) => ids.length > 1);
const [largest] = shared.sort((a, b) => b.length - a.length || (a[0] < b[0] ? -1 : 1));
return {
  licenses: licenses.length,
  groups: shared.length,
  inGroups: shared.reduce((sum, ids) => sum + ids.length, 0),
  largest: largest.sort(),
};
