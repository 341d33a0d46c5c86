import type { Clock } from '../../core/clock.js';
import { events, groupEvents, groups, orderEvents } from '../../sources/finances/model/tables.js';
import { DeltaTable } from '../../lake/delta/delta-table.js';
import type { Snapshot } from '../../lake/delta/snapshot.js';
import type { Store } from '../../lake/store/store.js';

/** The tables that hold what was received. */
const schemas = { events, groups, group_events: groupEvents, order_events: orderEvents };

export type MainTable = keyof typeof schemas;

/** On a disk, to read on costs next to nothing. */
function usuallyFreshMs(store: Store): number {
  return store.localPath('') === undefined ? 1000 : 0;
}

/**
 * The main tables of a lake, each at the newest version that was read. A slice counts with the commit to its main table, so
 * nothing is seen of it before.
 */
export class MainTables {
  readonly store: Store;
  readonly #clock: Clock;
  readonly #tables: Readonly<Record<MainTable, DeltaTable>>;
  readonly #freshMs: number;
  #readAt = -Infinity;
  #reading: Promise<unknown> | undefined;

  private constructor(store: Store, clock: Clock, freshMs: number) {
    this.store = store;
    this.#clock = clock;
    const table = (name: MainTable) => new DeltaTable(schemas[name], store, clock);
    this.#tables = {
      events: table('events'),
      groups: table('groups'),
      group_events: table('group_events'),
      order_events: table('order_events'),
    };
    this.#freshMs = freshMs;
  }

  /**
   * `freshMs`: so old may be what is known of the logs, milliseconds.
   *
   * @throws LedgerlakeError LAKE_STORE, LAKE_LOG where the lake's logs can't be read
   */
  static async open(store: Store, clock: Clock, freshMs = usuallyFreshMs(store)): Promise<MainTables> {
    const tables = new MainTables(store, clock, freshMs);
    await tables.refresh();
    return tables;
  }

  table(name: MainTable): DeltaTable {
    return this.#tables[name];
  }

  snapshot(name: MainTable): Snapshot {
    return this.#tables[name].snapshot;
  }

  /** The version of each table that has one. */
  versions(): Readonly<Record<string, number>> {
    return Object.fromEntries(
      this.tables.map(({ schema, snapshot }) => [schema.name, snapshot.version] as const).filter(([, at]) => at >= 0),
    );
  }

  /** Accounts that something was read for. */
  accounts(): ReadonlySet<string> {
    return new Set(this.tables.flatMap(({ snapshot }) => [...snapshot.accounts()]));
  }

  /** Reads what was committed since; who comes meanwhile waits for the same. `atOnce`: however little time has gone by. */
  async refresh(atOnce = false): Promise<void> {
    const now = this.#clock.now();
    if (!atOnce && now - this.#readAt < this.#freshMs) return;
    this.#reading ??= Promise.all(this.tables.map((table) => table.refresh())).finally(() => {
      this.#reading = undefined;
    });
    await this.#reading;
    this.#readAt = now;
  }

  get tables(): readonly DeltaTable[] {
    return Object.values(this.#tables);
  }
}
