import { describe, expect, test } from "vitest";
import { fieldsOf } from "../../src/options/options.ts";
import { FilePolicies } from "../../src/sources/policy.ts";

const PLACE = fieldsOf("api.json: portcullis");
const read = (written: unknown) => new FilePolicies(PLACE, "github", written);

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
    expect(policies.of("github.repos.get")).toEqual({ allowedCallers: ["programmatic"], effect: "write" });
    expect(policies.of("github.issues.create")).toEqual({
      allowedCallers: ["programmatic"],
      effect: "write",
      approval: "always",
      timeoutMs: 5,
    });
    expect(policies.of("github.issues.listForRepo")).toMatchObject({ effect: "read", approval: "never" });
  });

  test("has nothing for a tool whose callers it does not name, and for one that is set to false", () => {
    const policies = read({
      tools: { "repos.*": { allowedCallers: ["direct"] }, "repos.delete": false, "issues.*": { effect: "read" } },
    });
    expect(policies.of("github.repos.get")).toEqual({ allowedCallers: ["direct"] });
    expect(policies.of("github.repos.delete")).toBeUndefined();
    expect(policies.of("github.issues.get")).toBeUndefined();
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
      'api.json: portcullis.tools: { "a" }: expected an object, got true.',
    ],
    [
      "a star in the middle",
      { tools: { "a.*.b": {} } },
      `api.json: portcullis.tools: { "a.*.b" }: expected a tool's name, or one that ends with *`,
    ],
  ])("refuses %s, and says where", (_, written, message) => {
    expect(() => read(written)).toThrow(message);
  });

  test("names the tool that an entry without a tool was meant for", () => {
    const policies = read({ allowedCallers: ["direct"], tools: { "issues.lst": { effect: "read" } } });
    expect(() => policies.refuseUnmatched(["github.issues.list", "github.repos.get"])).toThrow(
      'api.json: portcullis.tools: { "issues.lst" }: github has no tool of this name, did you mean issues.list?',
    );
    expect(() => policies.refuseUnmatched(["github.issues.lst"])).not.toThrow();
  });

  test("takes names that objects inherit for names like all others", () => {
    const policies = read(JSON.parse('{ "tools": { "__proto__": { "allowedCallers": ["direct"] } } }'));
    expect(policies.of("github.toString")).toBeUndefined();
    expect(policies.of("github.__proto__")).toEqual({ allowedCallers: ["direct"] });
  });
});
