import type { Tool } from "../tool.ts";
import { inputJson, jsonSchemaOf } from "../tool-schemas.ts";
import { type JsonSchema, resolveReference } from "../json-schema/json-schema.ts";
import { type Action, actionOf, isVerb } from "./actions.ts";
import { wordsOf } from "./words.ts";

/** How much a word counts by where it stands. Chosen on the queries of test/tools/search that are for this. */
const WEIGHTS = {
  name: 3,
  service: 2,
  tag: 1,
  firstSentence: 3.5,
  description: 0.6,
  field: 0.5,
  fieldDescription: 0.15,
  resultField: 0.15,
};

/** Maximum characters read of a tool's description, and of a field's description. */
const DESCRIPTION_LENGTH = 1000;
const FIELD_LENGTH = 100;
/** Maximum of fields read of one input, or one result, and of levels below it. */
const MAX_FIELDS = 60;
const LEVELS = 2;

/** A tool that says at once that it is deprecated names another that does the same. */
const [DEPRECATED, DEPRECATED_SHARE] = [/^[^]{0,300}\bdeprecated\b/i, 0.7] as const;

/** What the index knows of a tool: each of its words with its weight, and the words of its name. */
export interface ToolWords {
  readonly weights: ReadonlyMap<string, number>;
  readonly name: readonly string[];
  /** The words before the first dot of its name; none for a service whose name is a verb, like `fetch`. */
  readonly service: readonly string[];
  readonly action: Action | undefined;
  /** Number of words in all texts, without the result's. */
  readonly length: number;
}

export function toolWords(tool: Tool): ToolWords {
  const { name, description, source = "", tags = [], outputSchema: output } = tool;
  const weights = new Map<string, number>();
  let length = 0;
  const share = DEPRECATED.test(description) ? DEPRECATED_SHARE : 1;
  const add = (words: readonly string[], weight: number) => {
    length += words.length;
    for (const word of new Set(words)) weights.set(word, (weights.get(word) ?? 0) + share * weight);
  };
  const path = name.split(".");
  const ownName = wordsOf(path.slice(path.length > 1 ? 1 : 0).join(" "));
  const about = description.slice(0, DESCRIPTION_LENGTH);
  const end = /[.!?](?:\s|$)/.exec(about)?.index ?? about.length;
  const fields = fieldsOf(inputJson(tool));
  const service = path.length > 1 ? wordsOf(path[0]!) : [];
  add([...service, ...wordsOf(source)], WEIGHTS.service);
  add(ownName, WEIGHTS.name);
  add(tags.flatMap(wordsOf), WEIGHTS.tag);
  add(wordsOf(about.slice(0, end)), WEIGHTS.firstSentence);
  add(wordsOf(about.slice(end)), WEIGHTS.description);
  add(wordsOf(fields.map(([field]) => field).join(" ")), WEIGHTS.field);
  add(wordsOf(fields.map(([, text]) => text).join(" ")), WEIGHTS.fieldDescription);
  const ownLength = length;
  const results = output ? fieldsOf(jsonSchemaOf(name, "output", output)) : [];
  add(wordsOf(results.map(([field]) => field).join(" ")), WEIGHTS.resultField);
  return {
    weights,
    name: [...new Set(ownName)],
    service: service.some(isVerb) ? [] : service,
    action: actionOf(tool, ownName),
    length: ownLength,
  };
}

/** Names and descriptions of the fields of an object, or of a list's items. Schemas come from other libraries and servers: any part may have any type. */
function fieldsOf(root: JsonSchema): readonly (readonly [name: string, description: string])[] {
  const fields: (readonly [string, string])[] = [];
  const open: { readonly schema: unknown; readonly level: number }[] = [{ schema: root, level: 0 }];
  for (let next = open.shift(); next && fields.length < MAX_FIELDS; next = open.shift()) {
    const schema = objectAt(root, next.schema);
    const properties = (objectAt(root, schema?.items) ?? schema)?.properties;
    if (typeof properties !== "object" || properties === null) continue;
    for (const [name, property] of Object.entries(properties).slice(0, MAX_FIELDS - fields.length)) {
      const about = objectAt(root, property)?.description;
      fields.push([name, typeof about === "string" ? about.slice(0, FIELD_LENGTH) : ""]);
      if (next.level < LEVELS - 1) open.push({ schema: property, level: next.level + 1 });
    }
  }
  return fields;
}

function objectAt(root: JsonSchema, part: unknown): JsonSchema | undefined {
  if (typeof part !== "object" || part === null) return undefined;
  const schema = part as JsonSchema;
  if (typeof schema.$ref !== "string") return schema;
  const found = resolveReference(root, schema.$ref);
  return typeof found === "object" && found !== null ? (found as JsonSchema) : undefined;
}
