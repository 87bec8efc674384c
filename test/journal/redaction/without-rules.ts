import { registerHooks } from "node:module";
import { redactSecrets } from "../../../src/index.ts";

/** Run in a process of its own: prints what `redactSecrets` says where its rules are not installed. */
registerHooks({
  resolve(specifier, context, next) {
    if (specifier.startsWith("@secretlint/")) throw new Error(`Cannot find package '${specifier}'`);
    return next(specifier, context);
  },
});

try {
  redactSecrets();
} catch (error) {
  process.stdout.write(JSON.stringify([(error as { readonly code: string }).code, (error as Error).message]));
}
