import { describe, expect, test } from "vitest";
import { fieldsOf, flag } from "../../src/option-rules/options.ts";
import { FilePolicies } from "../../src/sources/file-policies.ts";

const PLACE = fieldsOf("api.json: portcullis");
const SUBJECT = {
  place: PLACE,
  source: "github",
  namesOf: (name: string) => [name.slice("github.".length), name],
  needsEffect: false,
};
const read = (written: unknown, subject = SUBJECT) => new FilePolicies(subject, written);
const nothing = () => undefined;

describe("the policy of a file", () => {
  test("gives a tool what its own entry says, and the rest from the more general ones", () => {
    const policies = read({
      allowedCallers: ["programmatic"],
      effect: "write",
      tools: {
        "github.issues.create": { timeoutMs: 5 },
        "issues.*": { approval: "always" },
        "issues.list*": { effect: "read", approval: "never" },
      },
    });
    expect(policies.of("github.repos.get", nothing)).toEqual({ allowedCallers: ["programmatic"], effect: "write" });
    expect(policies.of("github.issues.create", nothing)).toEqual({
      allowedCallers: ["programmatic"],
      effect: "write",
      approval: "always",
      timeoutMs: 5,
    });
    expect(policies.of("github.issues.listForRepo", nothing)).toMatchObject({ effect: "read", approval: "never" });
  });

  test("has nothing for a tool whose callers it does not name, and a no for one that is set to false", () => {
    const policies = read({
      tools: { "repos.*": { allowedCallers: ["direct"] }, "repos.delete": false, "issues.*": { effect: "read" } },
    });
    expect(policies.of("github.repos.get", nothing)).toEqual({ allowedCallers: ["direct"] });
    expect(policies.of("github.repos.delete", nothing)).toBe(false);
    expect(policies.of("github.issues.get", nothing)).toBeUndefined();
  });

  test.each([
    ["nothing", undefined, "api.json: portcullis: expected an object, got undefined."],
    [
      "a misspelt field",
      { allowedCaller: ["direct"] },
      'api.json: portcullis: there is no option "allowedCaller", did you mean allowedCallers? The options are',
    ],
    [
      "a caller that does not exist",
      { allowedCallers: ["everyone"] },
      'api.json: portcullis.allowedCallers: expected a list of "direct" and "programmatic", at least one',
    ],
    [
      "a policy that is no object",
      { tools: { a: true } },
      'api.json: portcullis.tools["a"]: expected a policy, or false, got true.',
    ],
    ["text for a number of attempts", { retry: { attempts: "3" } }, "api.json: portcullis.retry.attempts: expected"],
    ["a function in a file", { retry: { attempts: 2, on: "all" } }, 'portcullis.retry: there is no option "on"'],
    ["a rate without its span", { tools: { a: { rate: { calls: 2 } } } }, `portcullis.tools["a"].rate.perMs: expected`],
    [
      "tags that are no words",
      { tags: ["pay", 7] },
      "api.json: portcullis.tags: expected an array of non-blank strings",
    ],
    ["a word for a flag", { pinned: "yes" }, "api.json: portcullis.pinned: expected true or false"],
    [
      "an outcome that does not exist",
      { onUnknown: "repeat" },
      `api.json: portcullis.onUnknown: expected "ask", "retry"`,
    ],
    [
      "a star in the middle",
      { tools: { "a.*.b": {} } },
      `api.json: portcullis.tools["a.*.b"]: expected a tool's name, or one that ends with *`,
    ],
  ])("refuses %s, and says where", (_, written, message) => {
    expect(() => read(written)).toThrow(message);
  });

  test("has what its kind of source has besides, and nothing of other kinds", () => {
    const written = { allowedCallers: ["direct"], stream: true, tools: { "issues.*": { stream: false } } };
    const policies = new FilePolicies({ ...SUBJECT, ownRules: { stream: flag() } }, written);
    expect(policies.of("github.issues.list", nothing)).toEqual({ allowedCallers: ["direct"], stream: false });
    expect(policies.of("github.repos.list", nothing)).toEqual({ allowedCallers: ["direct"], stream: true });
    expect(() => read(written)).toThrow('there is no option "stream"');
  });

  test("names the tool that an entry without a tool was meant for", () => {
    const policies = read({ allowedCallers: ["direct"], tools: { "issues.lst": { effect: "read" } } });
    expect(() => policies.refuseUnmatched(["github.issues.list", "github.repos.get"])).toThrow(
      'api.json: portcullis.tools["issues.lst"]: github has no tool "issues.lst", did you mean "issues.list"?',
    );
    expect(() => policies.refuseUnmatched(["github.issues.lst"])).not.toThrow();
  });

  test("takes names that objects inherit for names like all others", () => {
    const policies = read(JSON.parse('{ "tools": { "__proto__": { "allowedCallers": ["direct"] } } }'));
    expect(policies.of("github.toString", nothing)).toBeUndefined();
    expect(policies.of("github.__proto__", nothing)).toEqual({ allowedCallers: ["direct"] });
  });

  const others = () => ({ allowedCallers: ["programmatic"] as const, effect: "write" as const });

  test("is asked first: false stays false, and others say only who may call", () => {
    const policies = read({
      approval: "always",
      tools: {
        "issues.delete": false,
        "issues.*": { effect: "idempotent" },
        "repos.get": { allowedCallers: ["direct"] },
      },
    });
    expect(policies.of("github.issues.delete", others)).toBe(false);
    expect(policies.of("github.issues.get", others)).toEqual({
      allowedCallers: ["programmatic"],
      effect: "idempotent",
      approval: "always",
    });
    expect(policies.of("github.repos.get", others)).toEqual({ allowedCallers: ["direct"], approval: "always" });
    expect(policies.of("github.users.get", others)).toMatchObject({ effect: "write", approval: "always" });
  });

  test.each([
    [
      { tools: { "issues.get": { effect: "read" } } },
      false,
      'portcullis.tools["issues.get"].allowedCallers: expected a list',
    ],
    [{ effect: "read" }, false, "portcullis.allowedCallers: expected a list"],
    [{ approval: "always" }, false, "portcullis.allowedCallers: expected a list"],
    [{ allowedCallers: ["direct"] }, true, "portcullis.effect: expected"],
    [{ tools: { "issues.*": { allowedCallers: ["direct"] } } }, true, 'portcullis.tools["issues.*"].effect: expected'],
  ])("that does not say all about a tool is refused where it stands: %j", (written, needsEffect, message) => {
    const policies = read(written, { ...SUBJECT, needsEffect });
    expect(() => policies.of("github.issues.get", nothing)).toThrow(message);
  });

  test("of as many entries as there are tools is read in time that grows with both", () => {
    const names = Array.from({ length: 20_000 }, (_, place) => `github.t${place}`);
    const tools = Object.fromEntries(names.map((name) => [name, { effect: "read" }]));
    const policies = read({ allowedCallers: ["direct"], tools });
    for (const name of names) expect(policies.of(name, nothing)).toMatchObject({ effect: "read" });
    policies.refuseUnmatched(names);
  });
});
