import MiniSearch from "minisearch";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { ToolIndex } from "../../../src/tools/search/tool-index.ts";
import { wordsOf } from "../../../src/tools/search/words.ts";
import { jsonSchema } from "../../../src/tools/schema.ts";
import type { Tool } from "../../../src/tools/tool.ts";
import { tool } from "../../support/tools.ts";
import { catalogueTools } from "./catalogue-tools.ts";
import { LATER_QUERIES, LATER_UNSEEN_QUERIES, QUERIES, UNSEEN_QUERIES } from "./queries.ts";
import { recallOf } from "./recall.ts";
import { runs, testOfAll } from "../../support/all-tests.ts";
import { anyCharacter } from "../../support/any-character.ts";

/** The value of work in slices, and how many they were. */
function inSlices<Value>(work: Generator<undefined, Value>): readonly [value: Value, slices: number] {
  for (let slices = 1; ; slices += 1) {
    const { done, value } = work.next();
    if (done) return [value, slices];
  }
}

const described = (name: string, description: string, more: Partial<Tool> = {}): Tool => ({
  ...tool(name, () => null),
  description,
  ...more,
});
const indexOf = (tools: readonly Tool[]) => inSlices(ToolIndex.of(tools))[0];
const found = (index: ToolIndex, words: string, limit: number) => inSlices(index.search(words, limit))[0];
const namesIn = (index: ToolIndex) => (words: string) => found(index, words, 10).map(({ name }) => name);

testOfAll("among 4,000 tools, more of the queries that were not tuned on find their tool than by plain BM25", () => {
  const tools = catalogueTools();
  const search = namesIn(indexOf(tools));
  const plain = new MiniSearch<Tool>({ fields: ["name", "description"], idField: "name" });
  plain.addAll(tools);
  const byPlain = recallOf(UNSEEN_QUERIES, (words) => plain.search(words).map(({ id }) => String(id)));
  const unseen = recallOf(UNSEEN_QUERIES, search);
  expect(unseen.at5).toBeGreaterThan(byPlain.at5);
  expect(unseen.at5).toBeGreaterThanOrEqual(36);
  expect(unseen.at1).toBeGreaterThanOrEqual(28);
  expect(recallOf(LATER_UNSEEN_QUERIES, search).at5).toBeGreaterThanOrEqual(44);
  expect(recallOf([...QUERIES, ...LATER_QUERIES], search).at5).toBeGreaterThanOrEqual(100);
});

test.each([
  ["a part of a name", "list", "crm.listCustomers"],
  ["another form of a word", "listing customer", "crm.listCustomers"],
  ["a synonym", "clients", "crm.listCustomers"],
  ["the name of the service", "crm", "crm.listCustomers"],
  ["a word of the description", "overdue", "billing.open"],
  ["the name of an argument", "currency", "billing.open"],
  ["the description of an argument", "dunning", "billing.open"],
  ["a tag", "finance", "billing.open"],
  ["a field of its result", "remaining", "billing.open"],
  ["a field of the items of its result", "debtors", "billing.open"],
  ["its source", "ledger", "billing.open"],
  ["two words written as one", "listcustomers", "crm.listCustomers"],
  ["the beginning of a word", "overd", "billing.open"],
])("a tool is found by %s", (_, words, name) => {
  const properties = { currency: { type: "string" }, level: { type: "integer", description: "the dunning level" } };
  const debtor = { type: "object", properties: { debtors: { type: "array", items: { type: "string" } } } };
  const open = described("billing.open", "Invoices that are overdue.", {
    inputSchema: jsonSchema({ type: "object", properties }),
    outputSchema: jsonSchema({ type: "array", items: { type: "object", properties: { remaining: debtor } } }),
    tags: ["Finance"],
    source: "ledger",
  });
  const customers = described("crm.listCustomers", "All of them, by lastname.");
  const index = indexOf([customers, open, tool("weather.today", () => null)]);
  expect(namesIn(index)(words)[0]).toBe(name);
});

const notes = ["listNotes", "createNote", "updateNote", "deleteNote"].map((name) =>
  described(`desk.${name}`, "A note.", { effect: name.startsWith("list") ? "read" : "write" }),
);
test.each([
  ["which notes are there", "desk.listNotes"],
  ["write a note", "desk.createNote"],
  ["rename a note", "desk.updateNote"],
  ["throw a note away", "desk.deleteNote"],
  ["take the note down", "desk.deleteNote"],
  ["show a note", "desk.getNote"],
  ["show notes", "desk.listNotes"],
  ["every note", "desk.listNotes"],
])("a query finds the tool that does what its first words ask for, to one or to several: %s", (words, name) => {
  const all = [...notes, { ...notes[0], name: "desk.getNote" } as Tool];
  for (const tools of [all, all.toReversed()]) expect(namesIn(indexOf(tools))(words)[0]).toBe(name);
});

test("no tool that deletes comes first where nothing tells what is to be done, and none that is deprecated", () => {
  expect(namesIn(indexOf(notes.toReversed()))("note").at(-1)).toBe("desk.deleteNote");
  const old = described("desk.notes1", "A note. Deprecated: use notes2.");
  const other = described("desk.notes2", "A note. Newer than notes1, and to be used.");
  expect(namesIn(indexOf([old, other]))("note")).toEqual(["desk.notes2", "desk.notes1"]);
});

test("a search is not padded: what is far from the best is left out, and where nothing is close, nothing is found", () => {
  const lists = Array.from({ length: 40 }, (_, n) => described(`it.list${n}`, `Lists things of kind ${n}.`));
  const index = indexOf([...lists, described("buy.listSuppliers", "Lists suppliers.")]);
  expect(namesIn(index)("list suppliers")).toEqual(["buy.listSuppliers"]);
  expect(namesIn(index)("list the greenhouse orchids")).toEqual([]);
  expect(namesIn(indexOf(notes))("list the orchids")).toEqual(["desk.listNotes"]);
});

test("tools of a service that the query names come first, unless its name is a verb", () => {
  const installed = described("drive.installedApps", "Apps that are installed.");
  const tools = [installed, ...["chat.apps", "fetch.apps"].map((name) => described(name, "About an app."))];
  const search = namesIn(indexOf(tools));
  expect(search("apps installed in chat")[0]).toBe("chat.apps");
  expect(search("fetch the installed apps")[0]).toBe("drive.installedApps");
});

test("a question prefers tools that read, and an order those that change something", () => {
  const tools = [
    described("crm.label", "A label of a customer.", { effect: "write" }),
    described("crm.labels", "A label of a customer."),
  ];
  const search = namesIn(indexOf(tools));
  expect(search("which labels has a customer")[0]).toBe("crm.labels");
  expect(search("put a label on a customer")[0]).toBe("crm.label");
});

test("tools whose schemas refer to themselves, or have parts of any type, are indexed", () => {
  const odd = [
    { type: "object", properties: { next: { $ref: "#" }, a: true, b: null, c: [] } },
    { type: "object", properties: 3 },
    { $ref: "#" },
    { type: "array", items: { $ref: "#" } },
    { items: null, properties: { y: { items: [] } } },
    { type: "object", properties: { x: { description: 7, properties: "none" } } },
  ];
  const tools = odd.map((schema, place) => {
    const one = tool(`odd.tool${place}`, () => null);
    const input = {
      "~standard": { ...one.inputSchema["~standard"], jsonSchema: { input: () => schema, output: () => schema } },
    };
    return { ...one, inputSchema: input, outputSchema: input };
  });
  expect(namesIn(indexOf(tools))("odd tool")).toHaveLength(odd.length);
});

test("any query on any texts finds only tools of the index, each once, and at most as many as asked for", () => {
  fc.assert(
    fc.property(
      fc.array(fc.string({ unit: anyCharacter }), { maxLength: 8 }),
      fc.oneof(fc.string({ unit: anyCharacter }), fc.constant("__proto__ constructor toString")),
      fc.integer({ min: 1, max: 5 }),
      (descriptions, query, limit) => {
        const tools = descriptions.map((description, place) => described(`t${place}`, `${description} constructor`));
        const best = found(indexOf(tools), query, limit);
        expect(best.length).toBeLessThanOrEqual(limit);
        expect(new Set(best).size).toBe(best.length);
        expect(best.every((one) => tools.includes(one))).toBe(true);
      },
    ),
    { numRuns: runs(100) },
  );
});

test("a search is made word by word, and takes a bounded number of words for one that no tool has", () => {
  const letters = "abcdefghijklmnopqrstuvwxyz";
  const tools = Array.from({ length: 1100 }, (_, place) => {
    const ends = [place % 26, Math.floor(place / 26) % 26, Math.floor(place / 676)].map((at) => letters[at]);
    return described(`t${place}`, `zzaquo${ends.join("")}`);
  });
  const query = Array.from({ length: 32 }, (_, place) => `zzaq${letters[place % 26]}${place > 25 ? "xq" : "q"}`).join(
    " ",
  );
  const index = indexOf(tools);
  const [, slices] = inSlices(index.search(query, 5));
  expect(slices).toBeGreaterThan(32);
  expect(found(index, "zzaquo", 5000)).toHaveLength(1000);
});

test("a text of a megabyte takes no longer than its beginning", () => {
  expect(wordsOf("aA".repeat(500_000)).length).toBeLessThan(4001);
  expect(wordsOf("A".repeat(1_000_000))).toHaveLength(1);
});

test("after a > are synonyms of the words before it, and not the other way round", () => {
  const tools = [described("hr.listMembers", "All members."), described("hr.listBosses", "All bosses.")];
  const search = namesIn(indexOf(tools));
  expect(search("boss")).toEqual(["hr.listBosses", "hr.listMembers"]);
  expect(search("member")).toEqual(["hr.listMembers"]);
});
