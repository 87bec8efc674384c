import type { CallContext } from "../tools/tool.ts";
import { Slices } from "../values/in-slices.ts";
import { Lane } from "../values/slice-scheduler.ts";
import { FILES_INPUT, FOUND_FIELDS, globOf, isWanted, moreText, PATH_INPUT, type Seen, seenBy } from "./found.ts";
import { failed, type Place, quoted, Search, type Workspace } from "./workspace.ts";

/** Paths that are given, if the call does not say how many, and at most. */
const PATHS = { default: 500, max: 10_000 } as const;

export interface ListInput {
  readonly path?: string;
  readonly files?: string;
  readonly limit?: number;
}

export interface Listed extends Seen {
  readonly paths: readonly string[];
}

export const LIST_INPUT = {
  type: "object",
  properties: {
    path: { ...PATH_INPUT, description: "folder, from the root of the workspace; the root by default" },
    files: FILES_INPUT,
    limit: { type: "integer", minimum: 1, maximum: PATHS.max, description: `paths; ${PATHS.default} by default` },
  },
  additionalProperties: false,
};

export const LIST_OUTPUT = {
  type: "object",
  properties: {
    paths: {
      type: "array",
      items: { type: "string" },
      description: "from the root; those of folders end with a slash",
    },
    ...FOUND_FIELDS,
  },
  required: ["paths"],
};

/** Lists a folder, or with `files` all files below it with such names. */
export async function listFiles(
  workspace: Workspace,
  { path = "", files, limit = PATHS.default }: ListInput,
  { caller, tenant, signal }: CallContext,
  { pageBytes }: { readonly pageBytes: number },
): Promise<Listed> {
  const glob = files === undefined ? undefined : globOf(files);
  const search = new Search(new Slices(new Lane(tenant)), signal);
  const place = workspace.place(path);
  if (!(await workspace.isFolder(place))) throw failed(`${quoted(place.path)} is a file: read_file reads it.`);
  const paths: string[] = [];
  let left = 0;
  let bytes = caller === "direct" ? pageBytes : Number.POSITIVE_INFINITY;
  const add = (found: string) => {
    bytes -= Buffer.byteLength(JSON.stringify(found)) + 1;
    if (left === 0 && paths.length < limit && bytes >= 0) paths.push(found);
    else left += 1;
  };
  if (!glob)
    for (const name of await workspace.entries(place, search)) {
      await search.next();
      add(inFolder(place, name));
    }
  else
    for await (const file of workspace.files(place, search)) {
      await search.next();
      if (isWanted(glob, file, search)) add(file.path);
    }
  return { paths, ...seenBy(search, moreText(left, "entry")) };
}

function inFolder({ path }: Place, name: string): string {
  return path === "" ? name : `${path}/${name}`;
}
