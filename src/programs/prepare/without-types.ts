import { SourceMap, type SourceMapPayload } from "node:module";
import { NOT_ASYNC } from "./find-missing-await.ts";
import { asFunction, bodyOf, placeInBody } from "./function-body.ts";
import { moduleFault } from "./module-syntax.ts";
import { type ReadProgram, syntaxFault, type UnreadProgram } from "./read-program.ts";
import { type Reader, type StripError, stripTypes } from "./type-stripper.ts";

/** The code without its types, or the fault. */
export async function withoutTypes(
  code: string,
  reader: Reader,
): Promise<(Pick<ReadProgram, "toCode"> & { code: string }) | UnreadProgram> {
  const stripped = await stripTypes(asFunction(code), reader);
  switch (stripped.type) {
    case "code":
      return {
        code: bodyOf(stripped.code.trimEnd()),
        toCode: stripped.map === undefined ? (position) => position : toCodeBy(stripped.map, code),
      };
    case "refused":
      return unstripped(code, stripped.error);
    case "given_up":
      return {
        fault: syntaxFault(
          "Removing the program's types took too long. Use fewer and simpler types, or write plain JavaScript.",
          "typescript_unsupported",
        ),
        position: undefined,
      };
  }
}

/** Positions in code that was written anew, by its source map. Both texts are wrapped in a function. */
function toCodeBy(map: string, code: string): ReadProgram["toCode"] {
  const sourceMap = new SourceMap(JSON.parse(map) as SourceMapPayload);
  return ({ line, column }) => {
    const entry = sourceMap.findEntry(line, column - 1);
    return "originalLine" in entry
      ? placeInBody(code, { line: entry.originalLine + 1, column: entry.originalColumn })
      : { line: 1, column: 1 };
  };
}

function unstripped(code: string, { code: kind, message = "", startLine, startColumn }: StripError): UnreadProgram {
  const position =
    startLine === undefined || startColumn === undefined
      ? undefined
      : placeInBody(code, { line: startLine, column: startColumn });
  if (kind === "InvalidSyntax") {
    if (message.startsWith("await isn't allowed"))
      return { fault: syntaxFault(NOT_ASYNC, "await_not_async"), position };
    return moduleFault(code) ?? { fault: syntaxFault(`${message}.`), position: undefined };
  }
  if (kind !== "UnsupportedSyntax" && kind !== "TransformFailed")
    return { fault: syntaxFault("The program cannot be read."), position: undefined };
  const words = message.replace(/ in (strip-only|type strip) mode/, "").replace(/\.$/, "");
  return {
    fault: syntaxFault(`${words}. Write this as plain JavaScript.`, "typescript_unsupported"),
    position,
  };
}
