/** What the codes of failed connections mean; others have the words of node. */
const REASONS: readonly (readonly [RegExp, string])[] = [
  [/^(ENOTFOUND|EAI_AGAIN)$/, "its host is not known here"],
  [/^ECONNREFUSED$/, "nothing listens at its address"],
  [/^(EPROTO|ERR_SSL_)/, "it does not speak TLS there, or none that node takes: is the address to begin with http://?"],
  [
    /CERT|SIGNATURE|ISSUER/,
    "node does not trust its certificate: NODE_EXTRA_CA_CERTS names a file of further authorities",
  ],
  [/^HPE_/, "it does not answer by HTTP: is the address to begin with https://?"],
];

/** Why a request was not answered, for the developer: what `fetch` throws has it in its cause. */
export function reasonOf(error: Error): string {
  const { cause } = error;
  if (!(cause instanceof Error)) return error.message;
  const [first = cause] = cause instanceof AggregateError ? (cause.errors as Error[]) : [cause];
  const { code = "", message } = first as NodeJS.ErrnoException;
  const meaning = REASONS.find(([codes]) => codes.test(code))?.[1];
  return meaning === undefined ? message : `${meaning} (${code}: ${message.trim()})`;
}
