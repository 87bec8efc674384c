import { randomUUID } from "node:crypto";
import { fromOpenApi } from "portcullis";
import { readData } from "../read-data.ts";
import { type Described, playApi } from "./server.ts";

const spec = readData(new URL("../operations/api.github.com.json.br", import.meta.url)) as Described;

/** In place of https://api.github.com: a server on this machine that answers with the document's examples. */
const token = randomUUID();
const { url } = await playApi(spec, token);

/** Programs may read. Operations that change something are of no caller: nothing is said about them here. */
export const github = await fromOpenApi(
  { name: "github", spec, baseUrl: url, auth: { bearer: token } },
  (_, { method }) => (method === "GET" ? { allowedCallers: ["programmatic"] } : undefined),
);

export default github.tools;
