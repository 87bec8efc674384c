import { registerHooks } from "node:module";
import { fromOpenApi } from "../../../src/sources/openapi/from-openapi.ts";

/** Run in a process of its own: prints what `fromOpenApi` says where its libraries are not installed. */
let missing: readonly string[] = [];
registerHooks({
  resolve(specifier, context, next) {
    if (missing.includes(specifier)) throw new Error(`Cannot find package '${specifier}'`);
    return next(specifier, context);
  },
});

const said: unknown[] = [];
for (const library of ["openapi-fetch", "@scalar/openapi-parser"]) {
  missing = [library];
  const spec = "swagger: '2.0'\npaths: {}";
  await fromOpenApi({ name: "api", spec, baseUrl: "http://127.0.0.1" }, { allowedCallers: ["direct"] }).catch(
    ({ code, message }: { readonly code: string; readonly message: string }) => said.push([code, message]),
  );
}
process.stdout.write(JSON.stringify(said));
