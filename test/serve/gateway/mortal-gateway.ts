import type { Model } from "portcullis/models";
import { createMemoryJournal, type ExecutionSummary, type Journal, type Lease } from "portcullis/journal";
import { clientsOf, type GatewayClients, openGateway, type OpenGateway } from "./gateways.ts";

/** When the host of a gateway dies: after so many writes of its journal, or in the midst of an answer of its model. */
export type Death = { readonly writes: number } | { readonly answers: number };

export interface MortalGateway extends GatewayClients, AsyncDisposable {
  /** Errors of which the last host has told. */
  readonly errors: () => readonly unknown[];
  /** Writes of the journal, and answers of the model that were begun, by all hosts. */
  readonly counts: { writes: number; answers: number };
}

/** One host, which dies as it is said: what it waits for then comes once it is buried, as an error. */
function mortalHost(death: Death | undefined, counts: MortalGateway["counts"]) {
  const drivers = new Set<string>();
  const [dead, buried] = [Promise.withResolvers<void>(), Promise.withResolvers<never>()];
  buried.promise.catch(() => {});
  const done = { writes: 0, answers: 0 };
  let isDead = false;
  const die = () => {
    isDead = true;
    dead.resolve();
  };
  const count = (what: "writes" | "answers") => {
    counts[what] += 1;
    done[what] += 1;
    if (death && what in death && done[what] === Object.values(death)[0]) die();
  };
  /** What is done is done, but a host that dies with it does not learn of it. */
  const alive = async <Value>(work: () => Promise<Value>, what?: "writes"): Promise<Value> => {
    if (isDead) return buried.promise;
    const value = await work();
    if (what) count(what);
    return isDead ? buried.promise : value;
  };
  const own = (lease: Lease | undefined) => void (lease && drivers.add(lease.driver));
  // The leases of hosts that are dead have ended.
  const seen = (summary: ExecutionSummary): ExecutionSummary =>
    summary.lease && !drivers.has(summary.lease.driver)
      ? { ...summary, lease: { ...summary.lease, until: 0 } }
      : summary;
  return {
    dead: dead.promise,
    /** Ends what still waits in the dead host. */
    bury: () => {
      die();
      buried.reject(new Error("the host has died"));
    },
    journalOf: (shared: Journal): Journal => ({
      create: (header, lease) => {
        own(lease);
        return alive(() => shared.create(header, lease), "writes");
      },
      append: (execution, expected, records, options) => {
        for (const record of records)
          if (record.type === "claim") own({ driver: record.driver, until: record.at + record.leaseMs });
        return alive(() => shared.append(execution, expected, records, options), "writes");
      },
      renew: (execution, lease) => alive(() => shared.renew(execution, lease)),
      find: (execution) => alive(async () => seen(await shared.find(execution))),
      async *read(execution, options) {
        if (isDead) await buried.promise;
        yield* shared.read(execution, options);
      },
      async *list(options) {
        if (isDead) await buried.promise;
        for await (const summary of shared.list(options)) yield seen(summary);
      },
    }),
    /** A model in the midst of whose answer the host dies. */
    modelOf: (model: Model): Model => ({
      ...model,
      converse: async (opening) => {
        const conversation = await model.converse(opening);
        const turn: typeof conversation.turn = async (request) => {
          if (isDead) return buried.promise;
          count("answers");
          if (!isDead) return conversation.turn(request);
          request.onText("I was");
          return buried.promise;
        };
        return new Proxy(conversation, {
          get(target, name) {
            if (name === "turn") return turn;
            const value: unknown = Reflect.get(target, name);
            return typeof value === "function" ? value.bind(target) : value;
          },
        });
      },
    }),
  };
}

/**
 * A gateway whose host dies again and again, and is started anew on the same journal. Its clients send a request again that
 * has no whole answer, as they do when a connection breaks.
 */
export async function mortalGateway(upstream: () => Model, deaths: readonly Death[]): Promise<MortalGateway> {
  const shared = createMemoryJournal();
  const counts = { writes: 0, answers: 0 };
  const left = [...deaths];
  const start = async () => {
    const host = mortalHost(left.shift(), counts);
    // A host that has died may tell errors to its end.
    const errors: unknown[] = [];
    const onError = (error: unknown) => errors.push(error);
    const gateway = await openGateway(host.modelOf(upstream()), { journal: host.journalOf(shared), onError });
    return { host, gateway, errors };
  };
  let { host, gateway, errors } = await start();
  const answered = async (ask: OpenGateway["fetch"], given: Parameters<OpenGateway["fetch"]>) => {
    const response = await ask(...given);
    const { status, headers } = response;
    return { text: await response.text(), status, headers };
  };
  const fetch = (async (...given: Parameters<OpenGateway["fetch"]>) => {
    for (;;) {
      const answer = answered(gateway.fetch, given);
      answer.catch(() => {});
      const got = await Promise.race([answer, host.dead]);
      if (got) return new Response(got.text, got);
      host.bury();
      await gateway[Symbol.asyncDispose]();
      ({ host, gateway, errors } = await start());
    }
  }) as typeof globalThis.fetch;
  return {
    ...clientsOf(fetch),
    errors: () => errors,
    counts,
    async [Symbol.asyncDispose]() {
      host.bury();
      await gateway[Symbol.asyncDispose]();
    },
  };
}
