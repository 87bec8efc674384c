import {
  array,
  countText,
  optionError,
  type OptionsOf,
  readOptions,
  required,
  type SchemaType,
  wholeNumber,
  withDefault,
  words,
} from "../../base/index.ts";
import { defineTool } from "../../tools/define-tool.ts";
import { ALLOWED_CALLERS, type CallContext, type Tool } from "../../tools/tool.ts";
import { type Glob, readGlob } from "./glob.ts";
import { GREP_INPUT, GREP_OUTPUT, grepFiles } from "./grep-files.ts";
import { READ_INPUT, READ_OUTPUT, readPage, VIEW_INPUT, VIEW_OUTPUT, viewImage } from "./read-file.ts";
import { below, pathFailure, Search, Workspace } from "./workspace.ts";
import { z } from "zod";
import { objectSchema } from "../../base/values/object-schema.ts";
import { FoundPage, globOf, isWanted, SEARCHED, SEEN, seenBy } from "./found.ts";

const SUBJECT = "workspaceTools";
const KIB = 1024;
const MIB = 1024 * KIB;
const EXCLUDED_NAMED = 12;

export const WORKSPACE_RULES = {
  /** The folder whose files the tools read. Nothing outside of it is reached; links are not followed. */
  root: required(words("the path of a folder")),
  /**
   * Files and folders that do not exist for the tools, like `["dist", "*.pem", "docs/old"]`: `*` and `?` stand for what
   * has no slash, `**` for any folders, `{a,b}` for a choice; a pattern without a slash is one of names at any depth. By
   * default `.git`, `node_modules`, `.env` and `.env.*`.
   */
  exclude: withDefault(array<string>("an array of patterns"), [".git", "node_modules", ".env", ".env.*"]),
  /** Which callers may call the tools; both by default. `view_image` is for direct calls alone, since programs see no images. */
  allowedCallers: withDefault({ ...ALLOWED_CALLERS, presence: "optional" as const }, ["direct", "programmatic"]),
  /** Bytes of the longest file that is read or searched; 16 MiB by default. */
  fileBytes: wholeNumber({ min: KIB, max: 256 * MIB, default: 16 * MIB }),
  /** Bytes that a direct call gives at once, as JSON; 12 KiB by default. Keep it below the limit `outputBytes`. */
  pageBytes: wholeNumber({ min: KIB, max: 16 * MIB, default: 12 * KIB }),
};

export type WorkspaceOptions = OptionsOf<typeof WORKSPACE_RULES>;

/**
 * Tools that read the files below one folder: `read_file`, `grep_files`, `list_files` and `view_image`. All of them only
 * read. Throws `option_invalid` for a wrong option, and for a root that is no folder.
 */
export function workspaceTools(options: WorkspaceOptions): readonly Tool[] {
  const { root, exclude, allowedCallers, fileBytes, pageBytes } = readOptions(SUBJECT, options, WORKSPACE_RULES);
  const workspace = new Workspace(root, exclude.map(excludedGlob));
  const sizes = { fileBytes, pageBytes };
  // What the tools do not have, so that a model does not look for it.
  const named = [...exclude.slice(0, EXCLUDED_NAMED), ...(exclude.length > EXCLUDED_NAMED ? ["and more"] : [])];
  const except = exclude.length === 0 ? "" : ` Without ${named.join(", ")}.`;
  const common = { allowedCallers, effect: "read", concurrency: 16 } as const;
  const tools: Tool[] = [
    defineTool({
      ...common,
      name: "read_file",
      description: `Reads a text file of the workspace, with numbered lines. If \`more\` says that lines are left, call again with its offset.${except}`,
      inputSchema: READ_INPUT,
      outputSchema: READ_OUTPUT,
      execute: (input, context) => readPage(workspace, input, context, sizes),
    }),
    defineTool({
      ...common,
      name: "grep_files",
      description: `Finds lines in the text files of the workspace by a regular expression.${except}`,
      inputSchema: GREP_INPUT,
      outputSchema: GREP_OUTPUT,
      execute: (input, context) => grepFiles(workspace, input, context, sizes),
    }),
    defineTool({
      ...common,
      name: "list_files",
      description: `Lists a folder of the workspace; with \`files\`, all files below it with such names.${except}`,
      inputSchema: LIST_INPUT,
      outputSchema: LIST_OUTPUT,
      execute: (input, context) => listFiles(workspace, input, context, sizes),
    }),
    defineTool({
      ...common,
      allowedCallers: ["direct"],
      name: "view_image",
      description: "Shows you an image of the workspace: PNG, JPEG, GIF or WebP.",
      inputSchema: VIEW_INPUT,
      outputSchema: VIEW_OUTPUT,
      execute: (input) => viewImage(workspace, input),
    }),
  ];
  return allowedCallers.includes("direct") ? tools : tools.slice(0, -1);
}

function excludedGlob(source: unknown, index: number): Glob {
  const option = `${SUBJECT}({ exclude[${index}] })`;
  const expected = "a pattern of paths, like dist or *.pem";
  if (typeof source !== "string" || source.replace(/^\.?\/|\/$/g, "") === "")
    throw optionError(option, expected, source);
  return readGlob(source, (why) => optionError(option, `${expected}; it ${why}`, source));
}

const PATHS = { default: 500, max: 10_000 } as const;

const LIST_INPUT = objectSchema({
  path: z.string().optional().describe("folder, from the root of the workspace; the root by default"),
  files: SEARCHED.files,
  limit: z.int().min(1).max(PATHS.max).optional().describe(`paths; ${PATHS.default} by default`),
});

const LIST_OUTPUT = objectSchema({
  paths: z.array(z.string()).describe("from the root; those of folders end with a slash"),
  ...SEEN,
});

/** Lists a folder, or with `files` all files below it with such names. */
async function listFiles(
  workspace: Workspace,
  { path = "", files, limit = PATHS.default }: SchemaType<typeof LIST_INPUT>,
  { caller, tenant, signal }: CallContext,
  { pageBytes }: { readonly pageBytes: number },
): Promise<SchemaType<typeof LIST_OUTPUT>> {
  const glob = files === undefined ? undefined : globOf(files);
  const search = new Search(tenant, signal);
  const place = workspace.place(path);
  if (!(await workspace.isFolder(place))) throw pathFailure(place, " is a file: read_file reads it.");
  const page = new FoundPage<string>(limit, caller === "direct" ? pageBytes : Number.POSITIVE_INFINITY);
  if (!glob)
    for (const name of await workspace.entries(place, search)) {
      await search.next();
      page.add(below(place, name));
    }
  else
    for await (const file of workspace.files(place, search)) {
      await search.next();
      if (isWanted(glob, file, search)) page.add(file);
    }
  const { items: paths, remaining } = page;
  return { paths, ...seenBy(search, remaining > 0 && countText(remaining, "more entry", "more entries")) };
}
