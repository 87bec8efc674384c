import { expect, test } from "vitest";
import { nearest } from "../../src/option-rules/nearest.ts";

const KNOWN = ["billing.listInvoices", "billing.sumInvoices", "crm.find", "weather"];

test.each([
  ["billing.listInvoice", ["billing.listInvoices", "billing.sumInvoices"]],
  ["listInvoices", ["billing.listInvoices", "billing.sumInvoices"]],
  ["BILLING.LISTINVOICES", ["billing.listInvoices", "billing.sumInvoices"]],
  ["erp.find", ["crm.find"]],
  ["wether", ["weather"]],
  ["invoices", ["billing.listInvoices", "billing.sumInvoices"]],
  ["xyzzy", []],
  ["a.b", []],
  ["", []],
])("for %s the names near enough to be meant are %j, the best first", (name, meant) => {
  expect(nearest(name, KNOWN)).toEqual(meant);
});

test("no more names are given than were asked for, three where nothing was said", () => {
  const known = ["aa1", "aa2", "aa3", "aa4"];
  expect(nearest("aa", known)).toEqual(["aa1", "aa2", "aa3"]);
  expect(nearest("aa", known, 1)).toEqual(["aa1"]);
});

test("two characters in the other order are one mistake", () => {
  expect(nearest("chta", ["chat", "tools"])).toEqual(["chat"]);
  expect(nearest("taks_json", ["task_json"])).toEqual(["task_json"]);
  expect(nearest("abdc", ["abxy"])).toEqual([]);
});

test("names equally near come in the order of the alphabet, whatever order they were known in", () => {
  expect(nearest("ab", ["az", "ay", "ax"])).toEqual(["ax", "ay", "az"]);
});

test("a whole name outranks one that only ends alike", () => {
  expect(nearest("finds", ["crm.find", "find"])).toEqual(["find", "crm.find"]);
});

test("a long name that is like nothing has no nearest", () => {
  expect(nearest("nothing.like.it.at.all", ["crm.find", "weather"])).toEqual([]);
});

test("an enormous name is near nothing, and answered at once", () => {
  expect(nearest("x".repeat(1_000_000), KNOWN)).toEqual([]);
});

test("where so many names are known that a comparison would hold up the thread, none is near", () => {
  const many = Array.from({ length: 10_000 }, (_, n) => `billing.listInvoices${n}`);
  expect(nearest("billing.listInvoice", many.slice(0, 500))).not.toEqual([]);
  expect(nearest("billing.listInvoice", many)).toEqual([]);
});
