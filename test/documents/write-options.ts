import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "../support/snippets.ts";
import { formatted } from "./formatted.ts";
import { optionsPage, PAGE } from "./options-page.ts";

writeFileSync(join(root, PAGE), formatted(PAGE, await optionsPage()));
