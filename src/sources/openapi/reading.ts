import type { Schema } from "../../tools/schema.ts";
import type { CallContext, Resumes } from "../../tools/tool.ts";
import { fieldOf } from "../../values/fields.ts";
import { follow, type OpenApiDocument, PartFault } from "./document.ts";
import type { Parameter } from "./operations.ts";
import type { RequestParts } from "./request.ts";
import type { Schemas } from "./schemas.ts";
import { type Call, send, type Sender } from "./send.ts";
import { pageParameter, type Pagination } from "./streams/pagination.ts";
import { sendForItems } from "./streams/send-for-items.ts";
import { sendForPages } from "./streams/send-for-pages.ts";
import { listOutput, streamOutput } from "./streams/stream-output.ts";
import { type Answers, toolOutput } from "./tool-output.ts";

/** How the answers of an operation become the results of its tool. */
export interface Reading {
  /** The header `accept`. */
  readonly accept: string;
  /** Schema of the result, or of an item; undefined if the document does not say. */
  readonly schema: Schema | undefined;
  /** Set if the result is a stream. */
  readonly resumes?: Resumes;
  /** Whether a model that calls directly gets bytes as an image or a file. */
  readonly asPart: boolean;
  readonly send: (sender: Sender, call: Call, request: RequestParts, context: CallContext) => unknown;
}

export interface ReadingOptions {
  /** Whether the policy of the operation says that it is a stream. */
  readonly stream: boolean | undefined;
  readonly pages: Pages | undefined;
  /** Whether schemas are checked, and not only shown. */
  readonly checks: boolean;
}

/** Throws a `PartFault` if the document does not fit what the policy says. */
export function readingOf(schemas: Schemas, answers: Answers, { stream, pages, checks }: ReadingOptions): Reading {
  if (pages) {
    const { paginate, first } = pages;
    return {
      accept: toolOutput(schemas, answers, checks).accept,
      schema: listOutput(schemas, answers, { pointer: paginate.items ?? "", checks }),
      resumes: "from-start",
      asPart: false,
      send: (sender, call, request, context) => sendForPages(sender, call, request, { ...paginate, first }, context),
    };
  }
  const streamed = streamOutput(schemas, answers, { wanted: stream, checks });
  if (streamed) {
    const { form, accept, schema } = streamed;
    return {
      accept,
      schema,
      resumes: form === "events" ? "after" : "from-start",
      asPart: false,
      send: (sender, call, request, context) => sendForItems(sender, call, request, form, context),
    };
  }
  const { schema, accept } = toolOutput(schemas, answers, checks);
  // A declared schema of results that is checked requires the base64.
  return { accept, schema, asPart: schema === undefined || !checks, send };
}

export interface Pages {
  readonly paginate: Pagination;
  /** Number of the first page. */
  readonly first: number;
  /** The parameters that a program gives: all but the one that names a page. */
  readonly parameters: readonly Parameter[];
}

/** Throws a `PartFault` if an operation has no pages of this kind. */
export function pagesOf(
  document: OpenApiDocument,
  method: string,
  parameters: readonly Parameter[],
  paginate: Pagination,
): Pages {
  if (method !== "GET") throw new PartFault("its policy says `paginate`, which is for operations of the method GET");
  const name = pageParameter(paginate);
  if (name === undefined) return { paginate, first: 1, parameters };
  const isPage = (parameter: Parameter) => parameter.place === "query" && parameter.name === name;
  const page = parameters.find(isPage);
  if (!page)
    throw new PartFault(
      `its policy says \`paginate\` with the parameter ${JSON.stringify(name.slice(0, 100))}, which its query does not have`,
    );
  const declared = fieldOf(follow(document, page.schema), "default");
  return {
    paginate,
    first: Number.isSafeInteger(declared) ? (declared as number) : 1,
    parameters: parameters.filter((parameter) => !isPage(parameter)),
  };
}
