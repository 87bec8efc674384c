import { z } from "zod";
import type { CallContext } from "../tools/tool.ts";
import { Pace } from "../values/in-slices.ts";
import { objectSchema } from "../values/object-schema.ts";
import type { SchemaType } from "../values/schema-type.ts";
import { Lane } from "../values/slice-scheduler.ts";
import { Given, globOf, isWanted, SEARCHED, SEEN, seenBy } from "./found.ts";
import { below, failed, quoted, Search, type Workspace } from "./workspace.ts";

/** Paths that are given, if the call does not say how many, and at most. */
const PATHS = { default: 500, max: 10_000 } as const;

export const LIST_INPUT = objectSchema({
  path: z.string().optional().describe("folder, from the root of the workspace; the root by default"),
  files: SEARCHED.files,
  limit: z.int().min(1).max(PATHS.max).optional().describe(`paths; ${PATHS.default} by default`),
});

export const LIST_OUTPUT = objectSchema({
  paths: z.array(z.string()).describe("from the root; those of folders end with a slash"),
  ...SEEN,
});

/** Lists a folder, or with `files` all files below it with such names. */
export async function listFiles(
  workspace: Workspace,
  { path = "", files, limit = PATHS.default }: SchemaType<typeof LIST_INPUT>,
  { caller, tenant, signal }: CallContext,
  { pageBytes }: { readonly pageBytes: number },
): Promise<SchemaType<typeof LIST_OUTPUT>> {
  const glob = files === undefined ? undefined : globOf(files);
  const search = new Search(new Pace(new Lane(tenant)), signal);
  const place = workspace.place(path);
  if (!(await workspace.isFolder(place))) throw failed(`${quoted(place.path)} is a file: read_file reads it.`);
  const given = new Given<string>(limit, caller === "direct" ? pageBytes : Number.POSITIVE_INFINITY);
  if (!glob)
    for (const name of await workspace.entries(place, search)) {
      await search.next();
      given.add(below(place.path, name));
    }
  else
    for await (const file of workspace.files(place, search)) {
      await search.next();
      if (isWanted(glob, file, search)) given.add(file.path);
    }
  const { items: paths, left } = given;
  return { paths, ...seenBy(search, left, left === 1 ? "entry" : "entries") };
}
