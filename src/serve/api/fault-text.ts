import { z } from "zod";
import { nearest } from "../../base/index.ts";

/** Characters of an unknown field's name. */
const NAME_LENGTH = 128;

/**
 * The message about a fault of a request and its place. An unknown field comes first: because of it another field may
 * seem to be missing.
 */
export function faultText(schema: z.ZodType, what: string, { issues }: z.ZodError): string {
  const issue = issues.find(({ code }) => code === "unrecognized_keys") ?? issues[0];
  const path = issue?.path ?? [];
  const place = [what, ...path.map(String)].join(".");
  if (issue?.code !== "unrecognized_keys") return `${place}: ${issue ? plain(issue) : "it is invalid"}.`;
  return `${place}: ${unknownText(issue.keys[0] ?? "", fieldsAt(schema, path))}`;
}

function unknownText(name: string, fields: readonly string[]): string {
  const shown = JSON.stringify(name.slice(0, NAME_LENGTH));
  const [meant] = nearest(name, fields);
  if (meant !== undefined) return `there is no field ${shown}, did you mean ${meant}?`;
  return `there is no field ${shown}. ${fields.length === 0 ? "It takes none." : `The fields are ${fields.join(", ")}.`}`;
}

/** The fault in words of HTTP, not in a library's. What a route says itself stays. */
function plain(issue: z.core.$ZodIssue): string {
  const { code, message } = issue;
  if (code === "custom" || !LIBRARY.test(message)) return message;
  switch (code) {
    case "invalid_type":
      return message.endsWith("received undefined")
        ? `it is missing, expected ${issue.expected}`
        : `expected ${issue.expected}`;
    case "invalid_value":
      return `expected ${issue.values.map((value) => JSON.stringify(value)).join(" or ")}`;
    case "too_small":
      return `expected at least ${issue.minimum}${unitOf(issue.origin)}`;
    case "too_big":
      return `expected at most ${issue.maximum}${unitOf(issue.origin)}`;
    default:
      return "it is invalid";
  }
}

/** How the library begins its own sentences. */
const LIBRARY = /^(?:Invalid|Too |Unrecognized|Expected )/;

function unitOf(origin: string): string {
  return origin === "string" ? " characters" : "";
}

/** Names of the fields that may stand at a path. */
function fieldsAt(schema: unknown, path: readonly PropertyKey[]): readonly string[] {
  const own = schema instanceof z.ZodOptional || schema instanceof z.ZodDefault ? schema.unwrap() : schema;
  const [name, ...below] = path;
  if (own instanceof z.ZodRecord && name !== undefined) return fieldsAt(own.valueType, below);
  if (!(own instanceof z.ZodObject)) return [];
  return name === undefined ? Object.keys(own.shape) : fieldsAt(own.shape[String(name)], below);
}
