const at = { owner: "octocat", repo: "Hello-World" };
const [issues, labels, paths, referrers] = await Promise.all([
  tools.github.issues.listForRepo({ ...at, state: "open" }),
  tools.github.issues.listLabelsForRepo(at),
  tools.github.repos.getTopPaths(at),
  tools.github.repos.getTopReferrers(at),
]);
const timelines = await Promise.all(
  issues.map(({ number }) => tools.github.issues.listEventsForTimeline({ ...at, issue_number: number })),
);

const most = (list, field) => list.reduce((best, one) => (one[field] > best[field] ? one : best));
const used = new Set(issues.flatMap((issue) => issue.labels.map(({ name }) => name)));
const views = paths.reduce((sum, { count }) => sum + count, 0);
const top = most(paths, "count");
return {
  issues: issues.map(({ title }, index) => ({ title, events: timelines[index].length })),
  unusedLabels: labels.map(({ name }) => name).filter((name) => !used.has(name)),
  path: top.path,
  percentOfViews: Math.round((100 * top.count) / views),
  referrer: most(referrers, "uniques").referrer,
};
