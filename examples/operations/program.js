const operations = [];
let cursor;
do {
  const page = await tools.operations.list({ cursor });
  operations.push(...page.operations);
  cursor = page.nextCursor;
} while (cursor);

const matches = await Promise.all(
  operations.map(async ({ operationId }) => {
    const { requestBody, responses } = await tools.operations.get({ operationId });
    const takesJson = requestBody?.required && requestBody.content["application/json"];
    return takesJson && responses["422"] && !responses["403"] && !responses["404"];
  }),
);

const matching = operations.filter((_, index) => matches[index]);
const counts = new Map();
for (const { category } of matching) counts.set(category, (counts.get(category) ?? 0) + 1);

return {
  operations: operations.length,
  matching: matching.length,
  top: [...counts]
    .map(([category, count]) => ({ category, count }))
    .sort((a, b) => b.count - a.count || (a.category < b.category ? -1 : 1))
    .slice(0, 3),
};
