import { POSTGRES_URL } from "../../../journal/postgres/connection/address.ts";
import { readSecrets, secretFileOf } from "../../../serve/gateway/carried/secret-file.ts";
import { journalPathOf } from "../../input/open-journal.ts";

/** The secrets of servers whose journal is no file, the current one first, with spaces between. */
const VARIABLE = "PORTCULLIS_GATEWAY_SECRETS";

/**
 * The secrets that seal what clients of the gateway carry: beside the file of the journal, or in the environment. Without
 * either, each server has its own.
 */
export function secretsOf(named: string | undefined): { readonly secrets?: readonly string[] } {
  const given = process.env[VARIABLE]?.split(/\s+/).filter((secret) => secret !== "") ?? [];
  if (given.length > 0) return { secrets: given };
  const journal = journalPathOf(named);
  return journal === undefined || POSTGRES_URL.test(journal) ? {} : { secrets: readSecrets(secretFileOf(journal)) };
}
