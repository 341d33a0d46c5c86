import { hash } from 'node:crypto';
import { expect, onTestFinished, test } from 'vitest';
import { openDatabase, type Database } from '../../../src/core/duckdb/connection.js';
import { createViews } from '../../../src/core/duckdb/views.js';
import { openLakeReader } from '../../../src/app/query/lake-files.js';
import { createSeller } from '../../../src/emulator/seller/seller.js';
import type { BackendItem, BackendPage, BackendQuery } from '../../../src/serve/operation/backend-page.js';
import type { Window } from '../../../src/core/windows.js';
import type { Backend } from '../../../src/serve/served-apis.js';
import { randomOf } from '../../lake/simulation/random.js';
import { ran, serving, temporaryFolder } from '../lake-run.js';
import { lot, setClock, synced } from '../load/synced.js';
import { compacted, rebuilt } from '../maintenance/kept-lake.js';

const dayMs = 86_400_000;
const begin = Date.parse('2026-02-01T02:00:00Z');
const steps = 10;
/** What the lake itself held after each run is compared, too. */
const copied = ['entries', 'transactions', 'transaction_entries'] as const;
/** Columns that a row may get anew when its window is read again, or grows. */
const leftOut = {
  entries: ['effective_at'],
  transactions: ['window_start', 'window_end', 'position'],
  transaction_entries: [],
};

/** What the service answered, window by window: the lake's events by a second account. */
class AnswerLog {
  readonly #reading = new Map<string, { readonly range: Window; readonly items: string[]; isWhole: boolean }>();
  /** By the window that was asked for last. */
  #held: { readonly range: Window; readonly items: readonly string[] }[] = [];

  note(range: Window, { cursor }: BackendQuery, { items, next }: BackendPage): void {
    const key = `${range.start}/${range.end}`;
    const before = cursor === undefined ? undefined : this.#reading.get(key);
    const all = [...(before?.items ?? []), ...items.map(({ json }) => json)];
    this.#reading.set(key, { range, items: all, isWhole: next === undefined });
  }

  /** What the lake holds after a run: each answer replaces those of the windows within its own. */
  afterRun(): readonly string[] {
    for (const { range, items, isWhole } of this.#reading.values()) {
      if (!isWhole) continue;
      this.#held = this.#held.filter((old) => old.range.start < range.start || old.range.end > range.end);
      this.#held.push({ range, items });
    }
    this.#reading.clear();
    return shortened(this.#held.flatMap(({ items }) => items));
  }
}

/** The backend, which shows some items late, and some only for a while. */
function playedBackend(seller: Backend, answers: AnswerLog): Backend {
  const isHidden = (item: BackendItem, { asOf }: BackendQuery) => {
    const since = begin + (lot(item, 12) - 2) * dayMs;
    if (lot(item, 9) === 0) return asOf < since;
    return lot(item, 9) === 1 && asOf >= since;
  };
  const shown = async (query: BackendQuery, answer: Promise<BackendPage>) => {
    const page = await answer;
    return { ...page, items: page.items.filter((item) => !isHidden(item, query)) };
  };
  const { byTransaction } = seller;
  if (byTransaction === undefined) throw new Error('the seller has no transactions');
  return {
    groups: (range, query) => seller.groups(range, query),
    events: async (range, query) => {
      const page = await shown(query, seller.events(range, query));
      answers.note(range, query, page);
      return page;
    },
    eventsOfGroup: (id, query) => seller.eventsOfGroup(id, query),
    eventsOfOrder: (id, query) => seller.eventsOfOrder(id, query),
    byTransaction: {
      transactions: (question, query) => shown(query, byTransaction.transactions(question, query)),
      summaries: (question, query) => byTransaction.summaries(question, query),
      payouts: (question, query) => byTransaction.payouts(question, query),
    },
  };
}

/** Texts that are short enough for a message. */
function shortened(texts: readonly string[]): readonly string[] {
  return texts
    .map(
      (text) => `${hash('md5', text).slice(0, 12)} ${/"PostedDate":"[^"]*|"postedDate":"[^"]*/.exec(text)?.[0] ?? ''}`,
    )
    .toSorted();
}

async function textsOf(database: Database, from: string): Promise<readonly string[]> {
  const rows = await database.rows(`SELECT raw FROM ${from}`);
  return shortened(rows.map(({ raw }) => String(raw)));
}

test.each([1, 2])(
  'whatever runs have loaded, read again and merged, the lake is at each instant what they were answered by then (%s)',
  async (seed) => {
    const random = randomOf(seed);
    const clock = setClock(new Date(begin).toISOString());
    const seller = createSeller({ seed, events: 400, profile: 'edge-cases' }, clock);
    const answers = new AnswerLog();
    const endpoint = await serving({ backend: playedBackend(seller, answers), clock });
    const lake = await temporaryFolder();
    const given = { lake, endpoint, account: 'shop', pipelines: ['financial-events', 'transactions'] };
    const database = await openDatabase();
    onTestFinished(() => {
      database.close();
    });
    const look = async () => {
      const { tables, lakeFiles, macrosFor } = await openLakeReader(lake, clock);
      await createViews(database, tables, await lakeFiles());
      // To create all views takes half a second.
      const names = tables.map(({ name }) => `${name}_as_known`).join(' ');
      for (const macro of macrosFor(names)) await database.execute(macro);
    };

    const held: { readonly at: number; readonly events: readonly string[] }[] = [];
    for (let step = 0; step < steps; step++) {
      const last = Math.floor(clock.now() / dayMs);
      const from = last - 1 - random.below(40);
      const range = {
        from: new Date(from * dayMs).toISOString(),
        ...(random.below(3) > 0 && { to: new Date(Math.min(last, from + 1 + random.below(20)) * dayMs).toISOString() }),
      };
      const kind = step === 0 ? 0 : random.below(6);
      if (kind < 2) await ran({ ...given, ...range }, { clock });
      else if (kind === 2) await ran({ ...given, ...range, refresh: true }, { clock });
      else if (kind < 5)
        expect((await synced({ ...given, lookBack: random.below(10) }, { clock })).failure).toBeUndefined();
      else await (random.below(2) === 0 ? compacted : rebuilt)({ lake }, { clock });
      const events = answers.afterRun();
      held.push({ at: clock.now(), events });
      await look();
      // The log itself is right.
      expect(await textsOf(database, 'events'), `step ${step}`).toEqual(events);
      for (const table of copied) await database.execute(`CREATE TABLE ${table}${step} AS FROM ${table}`);
      clock.set(clock.now() + (1 + random.below(40)) * 3_600_000);
    }

    for (const [step, { at, events }] of held.entries()) {
      const known = `'${new Date(at + 1000).toISOString()}'`;
      expect(await textsOf(database, `events_as_known(${known})`), `step ${step}`).toEqual(events);
      for (const table of copied) {
        // Where a window was read again the others of its events may say another instant for one without a date.
        const without = leftOut[table].join(', ');
        const columns = without === '' ? '*' : `* EXCLUDE (${without})`;
        const [then, now] = [
          `SELECT ${columns} FROM ${table}${step}`,
          `SELECT ${columns} FROM ${table}_as_known(${known})`,
        ];
        const query = `SELECT event_id FROM ((${then} EXCEPT ALL ${now}) UNION ALL (${now} EXCEPT ALL ${then}))`;
        expect(await database.rows(query), `${table} of step ${step}`).toEqual([]);
      }
    }
    const early = `events_as_known('${new Date(begin - 1000).toISOString()}')`;
    expect(await textsOf(database, early)).toEqual([]);
  },
);
