import type { Journal } from "./journal.ts";

type Given<Method extends "create" | "append" | "read" | "find" | "list" | "renew"> = Parameters<Journal[Method]>;

/** A journal that passes everything on to another one. Those that extend it do some of it in their own way. */
export class WrappedJournal<Store extends Journal = Journal> implements Journal {
  readonly store: Store;
  readonly isDurable: boolean;
  /** Missing if the store tells of no appends. */
  readonly onAppend: Journal["onAppend"];

  constructor(store: Store) {
    this.store = store;
    this.isDurable = store.isDurable === true;
    this.onAppend = store.onAppend?.bind(store);
  }

  create(...given: Given<"create">) {
    return this.store.create(...given);
  }

  append(...given: Given<"append">) {
    return this.store.append(...given);
  }

  read(...given: Given<"read">) {
    return this.store.read(...given);
  }

  find(...given: Given<"find">) {
    return this.store.find(...given);
  }

  list(...given: Given<"list">) {
    return this.store.list(...given);
  }

  renew(...given: Given<"renew">) {
    return this.store.renew(...given);
  }
}
