import type { Journal } from "./journal.ts";

type Arguments<Method extends "create" | "append" | "read" | "find" | "list" | "renew"> = Parameters<Journal[Method]>;

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

  create(...values: Arguments<"create">) {
    return this.store.create(...values);
  }

  append(...values: Arguments<"append">) {
    return this.store.append(...values);
  }

  read(...values: Arguments<"read">) {
    return this.store.read(...values);
  }

  find(...values: Arguments<"find">) {
    return this.store.find(...values);
  }

  list(...values: Arguments<"list">) {
    return this.store.list(...values);
  }

  renew(...values: Arguments<"renew">) {
    return this.store.renew(...values);
  }
}
