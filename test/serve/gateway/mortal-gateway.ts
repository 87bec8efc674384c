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

/** What one host has of the journal that all share, until it dies. */
class Host {
  readonly #drivers = new Set<string>();
  readonly #dead = Promise.withResolvers<void>();
  readonly #buried = Promise.withResolvers<never>();
  readonly #death: Death | undefined;
  readonly #done = { writes: 0, answers: 0 };
  #isDead = false;

  constructor(death: Death | undefined) {
    this.#death = death;
    this.#buried.promise.catch(() => {});
  }

  /** Resolves once the host is dead. */
  get dead(): Promise<void> {
    return this.#dead.promise;
  }

  /** Ends what still waits in the dead host. */
  bury(): void {
    this.#die();
    this.#buried.reject(new Error("the host has died"));
  }

  #die(): void {
    this.#isDead = true;
    this.#dead.resolve();
  }

  #counted(what: "writes" | "answers"): void {
    this.#done[what] += 1;
    if (this.#death && what in this.#death && this.#done[what] === Object.values(this.#death)[0]) this.#die();
  }

  /** The journal as this host sees it: what is done is done, but a host that dies with it does not learn of it. */
  journalOf(shared: Journal, counts: MortalGateway["counts"]): Journal {
    const alive = async <Value>(work: () => Promise<Value>): Promise<Value> => {
      if (this.#isDead) return this.#buried.promise;
      const value = await work();
      return this.#isDead ? this.#buried.promise : value;
    };
    const written = <Value>(work: () => Promise<Value>) =>
      alive(async () => {
        const value = await work();
        counts.writes += 1;
        this.#counted("writes");
        return value;
      });
    const own = (lease: Lease | undefined) => void (lease && this.#drivers.add(lease.driver));
    // The leases of hosts that are dead have ended.
    const seen = (summary: ExecutionSummary): ExecutionSummary =>
      summary.lease && !this.#drivers.has(summary.lease.driver)
        ? { ...summary, lease: { ...summary.lease, until: 0 } }
        : summary;
    const isDead = () => this.#isDead;
    const buried = this.#buried.promise;
    return {
      create: (header, lease) => {
        own(lease);
        return written(() => shared.create(header, lease));
      },
      append: (execution, expected, records, options) => {
        for (const record of records)
          if (record.type === "claim") own({ driver: record.driver, until: record.at + record.leaseMs });
        return written(() => shared.append(execution, expected, records, options));
      },
      renew: (execution, lease) => alive(() => shared.renew(execution, lease)),
      find: (execution) => alive(async () => seen(await shared.find(execution))),
      async *read(execution, options) {
        if (isDead()) await buried;
        yield* shared.read(execution, options);
      },
      async *list(options) {
        if (isDead()) await buried;
        for await (const summary of shared.list(options)) yield seen(summary);
      },
    };
  }

  /** A model in the midst of whose answer the host dies. */
  modelOf(model: Model, counts: MortalGateway["counts"]): Model {
    return {
      ...model,
      converse: async (opening) => {
        const conversation = await model.converse(opening);
        const turn: typeof conversation.turn = async (request) => {
          if (this.#isDead) return this.#buried.promise;
          counts.answers += 1;
          this.#counted("answers");
          if (!this.#isDead) return conversation.turn(request);
          request.onText("I was");
          return this.#buried.promise;
        };
        return new Proxy(conversation, {
          get(target, name) {
            if (name === "turn") return turn;
            const value: unknown = Reflect.get(target, name);
            return typeof value === "function" ? value.bind(target) : value;
          },
        });
      },
    };
  }
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
    const host = new Host(left.shift());
    const gateway = await openGateway(host.modelOf(upstream(), counts), { journal: host.journalOf(shared, counts) });
    return { host, gateway };
  };
  let { host, gateway } = await start();
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
      gateway.errors.length = 0;
      await gateway[Symbol.asyncDispose]();
      ({ host, gateway } = await start());
    }
  }) as typeof globalThis.fetch;
  return {
    ...clientsOf(fetch),
    errors: () => gateway.errors,
    counts,
    async [Symbol.asyncDispose]() {
      host.bury();
      await gateway[Symbol.asyncDispose]();
    },
  };
}
