const [{ content: listing }, graph] = await Promise.all([
  tools.files.list_directory({ path: "." }),
  tools.memory.read_graph({}),
]);
const names = listing.split("\n").map((line) => line.replace("[FILE] ", ""));
const notes = await Promise.all(names.map((name) => tools.files.read_text_file({ path: name })));

const related = (type) => graph.relations.filter(({ relationType }) => relationType === type);
const teamOf = new Map(related("owned by").map(({ from, to }) => [from, to]));
const leadOf = new Map(related("leads").map(({ from, to }) => [to, from]));

const teams = new Map();
for (const { content } of notes) {
  const [, service] = /^Service: (.+)$/m.exec(content);
  const [, minutes] = /^Minutes: (\d+)$/m.exec(content);
  const name = teamOf.get(service);
  const team = teams.get(name) ?? { team: name, lead: leadOf.get(name), incidents: 0, minutes: 0 };
  team.incidents += 1;
  team.minutes += Number(minutes);
  teams.set(name, team);
}
return [...teams.values()].sort((one, other) => other.minutes - one.minutes)[0];
