import { z } from "zod";
import { defineTool, type Tool } from "../../../src/index.ts";

const order = z.object({
  id: z.number(),
  customerId: z.string(),
  status: z.enum(["open", "paid", "shipped"]),
  total: z.number(),
  note: z.string().nullable(),
  placedAt: z.string(),
  lines: z.array(z.object({ sku: z.string(), count: z.number(), price: z.number().optional() })),
  address: z.object({ city: z.string(), country: z.string() }).nullable(),
});
const customer = z.object({
  id: z.string(),
  name: z.string(),
  email: z.string().optional(),
  tags: z.array(z.string()),
});

function tool(name: string, input: Tool["inputSchema"], output: Tool["outputSchema"], stream = false): Tool {
  const execute = () => Promise.reject(new Error("not called for its result"));
  const more = stream ? { stream: true, execute: () => [] } : { execute };
  return defineTool({
    name,
    description: `${name}, for tests`,
    inputSchema: input,
    outputSchema: output,
    effect: "read",
    allowedCallers: ["programmatic"],
    ...more,
  } as never);
}

/** Tools whose inputs and results are declared whole. */
export const SHOP: readonly Tool[] = [
  tool(
    "shop.orders",
    z.object({
      status: z.enum(["open", "paid", "shipped"]).optional(),
      page: z.int().optional(),
      limit: z.int().default(20),
    }),
    z.object({ items: z.array(order), nextPage: z.number().nullable() }),
  ),
  tool("shop.order", z.object({ id: z.number() }), order),
  tool("shop.customer", z.object({ id: z.string() }), customer),
  tool(
    "shop.search",
    z.object({ query: z.string(), filters: z.record(z.string(), z.string()).optional() }),
    z.array(customer),
  ),
  tool(
    "shop.refund",
    z.object({ id: z.number(), amount: z.number(), reason: z.string().optional() }),
    z.object({ ok: z.boolean() }),
  ),
  tool("shop.eachOrder", z.object({}), order, true),
  tool(
    "shop.state",
    z.object({ id: z.number() }),
    z.union([
      z.object({ kind: z.literal("done"), at: z.string() }),
      z.object({ kind: z.literal("waiting"), position: z.number() }),
    ]),
  ),
  tool("shop.settings", z.object({}), z.record(z.string(), z.number())),
  tool(
    "shop.rows",
    z.object({ sql: z.string() }),
    z.object({ columns: z.array(z.string()), rows: z.array(z.array(z.unknown())) }),
  ),
];

/** Right programs as models write them, by what is particular in each. */
export const IDIOMS: Readonly<Record<string, string>> = {
  "pages in a loop": `const all = []; let page = 1; while (page) { const r = await tools.shop.orders({ page, limit: 50 }); all.push(...r.items); page = r.nextPage; } return all.length;`,
  "pages in do while with null": `let page = null; let n = 0; do { const r = await tools.shop.orders(page === null ? {} : { page }); n += r.items.length; page = r.nextPage; } while (page !== null); return n;`,
  "a sum with reduce": `const { items } = await tools.shop.orders({ status: "paid" }); return items.reduce((sum, o) => sum + o.total, 0);`,
  "a group by reduce": `const { items } = await tools.shop.orders({}); return items.reduce((by, o) => { (by[o.status] ??= []).push(o.id); return by; }, {});`,
  "a group by Map": `const { items } = await tools.shop.orders({}); const by = new Map(); for (const o of items) by.set(o.customerId, (by.get(o.customerId) ?? 0) + o.total); return [...by].sort((a, b) => b[1] - a[1]).slice(0, 3).map(([id, total]) => ({ id, total }));`,
  "Map.groupBy": `const { items } = await tools.shop.orders({}); const by = Map.groupBy(items, (o) => o.status); return [...by.entries()].map(([k, v]) => [k, v.length]);`,
  "Object.groupBy": `const { items } = await tools.shop.orders({}); const by = Object.groupBy(items, (o) => o.status); return Object.entries(by).map(([k, v]) => [k, v.length, v[0].total]);`,
  "a sort by two keys": `const { items } = await tools.shop.orders({}); return items.toSorted((a, b) => a.status.localeCompare(b.status) || b.total - a.total).map((o) => o.id);`,
  "the best by reduce without a start": `const { items } = await tools.shop.orders({}); const best = items.reduce((a, b) => (a.total > b.total ? a : b)); return best.id;`,
  "the best by a variable": `let best = null; for (const o of (await tools.shop.orders({})).items) if (!best || o.total > best.total) best = o; return best?.customerId;`,
  "the best, undefined first": `let best; for (const o of (await tools.shop.orders({})).items) { if (best === undefined || best.total < o.total) best = o; } return best && best.lines[0].sku;`,
  "calls at once": `const { items } = await tools.shop.orders({}); const customers = await Promise.all(items.map((o) => tools.shop.customer({ id: o.customerId }))); return customers.map((c) => c.name);`,
  "calls at once, with other things": `const [a, b] = await Promise.all([tools.shop.orders({}), tools.shop.customer({ id: "c" })]); return { n: a.items.length, name: b.name };`,
  "rows that are enriched": `const { items } = await tools.shop.orders({}); const rich = await Promise.all(items.map(async (o) => ({ ...o, customer: await tools.shop.customer({ id: o.customerId }) }))); return rich.map((r) => [r.id, r.customer.name, r.total]);`,
  "rows that get fields": `const { items } = await tools.shop.orders({}); for (const o of items) { o.customer = await tools.shop.customer({ id: o.customerId }); } return items.map((o) => o.customer.email ?? "none");`,
  "a join by an index": `const byId = {}; for (const c of await tools.shop.search({ query: "a" })) byId[c.id] = c; const { items } = await tools.shop.orders({}); return items.filter((o) => byId[o.customerId]?.tags.includes("vip")).length;`,
  "Object.fromEntries": `const cs = await tools.shop.search({ query: "a", filters: { country: "CH" } }); const names = Object.fromEntries(cs.map((c) => [c.id, c.name])); const { items } = await tools.shop.orders({}); return items.map((o) => names[o.customerId] ?? "?");`,
  "a set of ids": `const { items } = await tools.shop.orders({}); const ids = new Set(items.map((o) => o.customerId)); const out = []; for (const id of ids) out.push((await tools.shop.customer({ id })).name); return out;`,
  "a retry": `async function retry(f, n = 3) { for (let i = 0; ; i++) { try { return await f(); } catch (e) { if (i >= n || e.code !== "handler_failed") throw e; } } } const o = await retry(() => tools.shop.order({ id: 1 })); return o.total;`,
  "settled calls": `const rs = await Promise.allSettled([1, 2].map((id) => tools.shop.order({ id }))); return rs.map((r) => (r.status === "fulfilled" ? r.value.total : r.reason.message));`,
  "an optional address": `const o = await tools.shop.order({ id: 1 }); return o.address?.city ?? o.note ?? "unknown";`,
  "a destructured row": `for (const { id, lines: [first, ...rest], address: { city = "?" } = {} } of (await tools.shop.orders({})).items) console.log(id, first?.sku, rest.length, city); return 1;`,
  "a default of a field": `const { items = [], nextPage = null } = (await tools.shop.orders({})) ?? {}; return [items.length, nextPage];`,
  "flatMap over lines": `const { items } = await tools.shop.orders({}); return items.flatMap((o) => o.lines.map((l) => ({ order: o.id, ...l, sum: l.count * (l.price ?? 0) }))).filter((l) => l.sum > 5);`,
  dates: `const { items } = await tools.shop.orders({}); const day = (o) => new Date(o.placedAt).toISOString().slice(0, 10); return items.filter((o) => day(o) >= "2026-01-01" && Date.now() - new Date(o.placedAt) > 0).length;`,
  "a text with a pattern": `const { note } = await tools.shop.order({ id: 1 }); const m = note?.match(/#(\\d+)/); return m ? (await tools.shop.order({ id: Number(m[1]) })).total : null;`,
  "a parsed number": `const ids = "1, 2, 3".split(",").map((s) => parseInt(s.trim(), 10)); const out = []; for (const id of ids) out.push((await tools.shop.order({ id })).status); return out;`,
  "a condition in an input": `const big = Math.random() > 0.5; const r = await tools.shop.orders({ status: big ? "open" : undefined, ...(big && { limit: 5 }) }); return r.items.length;`,
  "an input that is built": `const input = { status: "open" }; if (Math.random() > 0.5) input.limit = 5; const r = await tools.shop.orders(input); return r.items.length;`,
  "an input of a function": `const q = (page) => ({ page, limit: 10 }); const rs = []; for (let p = 1; p < 4; p++) rs.push(...(await tools.shop.orders(q(p))).items); return rs.length;`,
  "a loop over states": `const counts = {}; for (const status of ["open", "paid", "shipped"]) counts[status] = (await tools.shop.orders({ status })).items.length; return counts;`,
  "states by Object.entries": `const want = { open: 5, paid: 6 }; for (const [status, limit] of Object.entries(want)) await tools.shop.orders({ status, limit }); return 1;`,
  "a table of calls": `const plan = [["open", 1], ["paid", 2]]; for (const [status, page] of plan) await tools.shop.orders({ status, page }); return plan.length;`,
  "a tool in a variable": `const { orders, customer: getCustomer } = tools.shop; const r = await orders({}); return (await getCustomer({ id: r.items[0].customerId })).name;`,
  "a tool by a name": `const name = "orders"; const r = await tools.shop[name]({}); return r.items.length;`,
  "a stream": `let sum = 0; for await (const o of tools.shop.eachOrder({})) { if (o.status === "paid") sum += o.total; if (sum > 1e6) break; } return sum;`,
  "a collected stream": `const all = await Array.fromAsync(tools.shop.eachOrder({})); return all.map((o) => o.id);`,
  "one of two shapes": `const s = await tools.shop.state({ id: 1 }); if (s.kind === "done") return s.at; return s.position;`,
  "one of two shapes, asked for by field": `const s = await tools.shop.state({ id: 1 }); return s.at ? s.at : "at " + s.position; `,
  "one of two shapes, with in": `const s = await tools.shop.state({ id: 1 }); return "position" in s ? s.position + 1 : s.at.length;`,
  "a record": `const s = await tools.shop.settings({}); return [s.fee, s["vat-rate"], Object.entries(s).filter(([, v]) => v > 1).map(([k]) => k)];`,
  "rows of unknown cells": `const { columns, rows } = await tools.shop.rows({ sql: "select 1" }); const objects = rows.map((r) => Object.fromEntries(columns.map((c, i) => [c, r[i]]))); return objects.filter((o) => o.city === "Bern").map((o) => o.name.toUpperCase());`,
  "a result that is cleaned": `const o = await tools.shop.order({ id: 1 }); delete o.note; const { placedAt, ...rest } = o; return { ...rest, day: placedAt.slice(0, 10) };`,
  "a class": `class Report { constructor() { this.rows = []; } add(o) { this.rows.push({ id: o.id, total: o.total }); return this; } get sum() { return this.rows.reduce((s, r) => s + r.total, 0); } } const r = new Report(); for (const o of (await tools.shop.orders({})).items) r.add(o); return r.sum;`,
  "an async generator": `async function* all() { let page = 1; for (;;) { const r = await tools.shop.orders({ page }); yield* r.items; if (!r.nextPage) return; page = r.nextPage; } } const ids = []; for await (const o of all()) ids.push(o.id); return ids;`,
  "a pool of workers": `const queue = [1, 2, 3, 4]; const out = {}; const work = async () => { while (queue.length) { const id = queue.shift(); out[id] = (await tools.shop.order({ id })).total; } }; await Promise.all([work(), work()]); return out;`,
  chunks: `const ids = Array.from({ length: 10 }, (_, i) => i + 1); const got = []; for (let i = 0; i < ids.length; i += 3) got.push(...(await Promise.all(ids.slice(i, i + 3).map((id) => tools.shop.order({ id }))))); return got.length;`,
  "types of its own": `interface Row { id: number; name: string; total: number } const rows: Row[] = []; for (const o of (await tools.shop.orders({ status: "open" as const })).items) { const c = await tools.shop.customer({ id: o.customerId }); rows.push({ id: o.id, name: c.name, total: o.total }); } return rows.sort((a: Row, b: Row) => b.total - a.total)[0]!.name;`,
  "types with generics": `const sums = new Map<string, { n: number; total: number }>(); for (const o of (await tools.shop.orders({})).items) { const s = sums.get(o.status) ?? { n: 0, total: 0 }; s.n++; s.total += o.total; sums.set(o.status, s); } return Object.fromEntries(sums) as Record<string, unknown>;`,
  "a function of its own with a type": `async function total(id: number): Promise<number> { const o = await tools.shop.order({ id }); return o.lines.reduce((s: number, l) => s + l.count * (l.price ?? 0), 0); } return (await total(1)) + (await total(2));`,
  "a main function": `async function main() { const { items } = await tools.shop.orders({}); const open = items.filter(({ status }) => status !== "shipped"); return open.map(({ id, total }) => ({ id, total })); } return await main();`,
  "an arrow that gets tools": `async ({ tools }) => { const { items } = await tools.shop.orders({}); return items.length; }`,
  "refunds with a check": `const o = await tools.shop.order({ id: 7 }); if (o.status !== "paid") return "not paid"; const { ok } = await tools.shop.refund({ id: o.id, amount: Math.min(o.total, 50), reason: o.note || undefined }); return ok ? "refunded" : "failed";`,
  "numbers as text": `const o = await tools.shop.order({ id: +"7" }); return \`\${o.id}: \${o.total.toFixed(2)} \${o.status.toUpperCase()}\`;`,
  "a histogram": `const h = Array(10).fill(0); for (const o of (await tools.shop.orders({ limit: 100 })).items) h[Math.min(9, Math.floor(o.total / 10))]++; return h;`,
  "a memo": `const memo = {}; const name = async (id) => (memo[id] ??= tools.shop.customer({ id }).then((c) => c.name)); const { items } = await tools.shop.orders({}); return Promise.all(items.map((o) => name(o.customerId)));`,
  "then and catch": `return tools.shop.order({ id: 1 }).then((o) => o.total).catch((e) => ({ error: e.message, code: e.code, tool: e.tool }));`,
  "a variable of several kinds": `let out = ""; const o = await tools.shop.order({ id: 1 }); out = o.total > 5 ? o.lines : []; return out.length;`,
  "an answer with fields like others": `const o = await tools.shop.order({ id: 1 }); const answer = { state: o.status, prio: 1 }; if (answer.state === "open") answer.prio += 1; return answer;`,
  "JSON in a text": `const { note } = await tools.shop.order({ id: 1 }); const data = JSON.parse(note ?? "{}"); return data.kind ?? data.items?.[0]?.name;`,
  "saved values": `const { items } = await tools.shop.orders({}); await save("orders", items); const again = await load("orders"); return again.map((o) => o.id).length;`,
  "found tools": `const [t] = await searchTools("orders"); return [t.name, (await tools.shop.orders({})).items.at(-1)?.id];`,
};
