import fc from 'fast-check';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { changes, type ChangesCommand } from '../../../src/app/changes/changes.js';
import { readSince } from '../../../src/app/changes/since.js';
import { forgetIn } from '../../../src/app/forget/forget.js';
import { lakeTables } from '../../../src/app/query/lake-files.js';
import type { ChangesSummary } from '../../../src/app/results.js';
import { openDatabase, type Database } from '../../../src/core/duckdb/connection.js';
import { fileLiteral, identifier, literal } from '../../../src/core/duckdb/literals.js';
import { viewedColumns, createViews } from '../../../src/core/duckdb/views.js';
import type { RunEvent } from '../../../src/core/events/run-event.js';
import { CatalogFiles } from '../../../src/lake/catalog/catalog-files.js';
import { openStore } from '../../../src/lake/store/open-store.js';
import { changes as libraryChanges, type RowChange } from '../../../src/index.js';
import { Kept } from '../../core/text/streams.js';
import { clockAt, temporaryFolder } from '../lake-run.js';
import { eventsBody, fileOf, imported } from '../import/imported.js';
import { compacted } from '../maintenance/kept-lake.js';
import { open, shipment, within } from '../maintenance/small-lake.js';
import { refreshed } from '../reconcile/revised-lake.js';

const clock = clockAt('2026-06-01T00:00:00Z');
const compared = lakeTables.filter(({ name }) => ['events', 'entries', 'event_history'].includes(name));

async function changed(options: Partial<ChangesCommand> & { lake: string }): Promise<ChangesSummary> {
  const defaults = {
    since: undefined,
    tables: [],
    account: undefined,
    exclude: [],
    format: undefined,
    file: undefined,
  };
  const context = { clock, signal: new AbortController().signal, emit: () => undefined, output: new Kept() };
  return (await changes({ ...defaults, ...options }, context)).summary;
}

/** Columns that changes may be compared without, those of the place where a row was read and one that tells rows apart. */
const excludable = ['position', 'window_start', 'window_end', 'raw'];

/** The contents of a lake's tables at several versions, to compare changes with. */
class KeptVersions {
  readonly #database: Database;
  readonly #lake: string;
  #count = 0;

  constructor(database: Database, lake: string) {
    this.#database = database;
    this.#lake = lake;
  }

  /** Keeps the contents of the newest version; that version, and the name of what is kept. */
  async keep(): Promise<{ version: string; name: string }> {
    const lake = await open(this.#lake, clock);
    const name = `at${this.#count++}`;
    await createViews(this.#database, compared, lake.fileAddresses());
    for (const { name: table } of compared)
      await this.#database.execute(`CREATE TABLE ${name}_${table} AS SELECT * FROM ${table}`);
    return { version: `${lake.snapshot.version}:${lake.snapshot.hash}`, name };
  }

  /** Of each table: rows that went and weren't there, and rows in which the applied changes differ from a later version. */
  async differences(
    before: string | undefined,
    after: string,
    file: string,
    excluded: readonly string[],
  ): Promise<Record<string, number[]>> {
    const found: Record<string, number[]> = {};
    for (const view of compared) {
      const kept = viewedColumns(view).filter(({ name }) => !excluded.includes(name));
      const columns = kept.map(({ name, type }) => `${literal(name)}: ${literal(type)}`);
      const read = `read_json(${fileLiteral(file)}, format = 'newline_delimited', columns = {_table: 'VARCHAR', _change_type: 'VARCHAR', ${columns.join(', ')}})`;
      const names = kept.map(({ name }) => identifier(name)).join(', ');
      const part = (type: string) =>
        `SELECT ${names} FROM ${read} WHERE _table = ${literal(view.name)} AND _change_type = '${type}'`;
      const was =
        before === undefined
          ? `SELECT ${names} FROM ${view.name} LIMIT 0`
          : `SELECT ${names} FROM ${before}_${view.name}`;
      const is = `SELECT ${names} FROM ${after}_${view.name}`;
      const applied = `((${was}) EXCEPT ALL (${part('delete')})) UNION ALL (${part('insert')})`;
      const counts = [
        `(${part('delete')}) EXCEPT ALL (${was})`,
        `(${applied}) EXCEPT ALL (${is})`,
        `(${is}) EXCEPT ALL (${applied})`,
      ];
      found[view.name] = [];
      for (const query of counts) {
        const [row] = await this.#database.rows(`SELECT count(*) AS n FROM (${query})`);
        found[view.name]?.push(Number(row?.['n']));
      }
    }
    return found;
  }
}

type Step =
  | {
      readonly kind: 'read' | 'import';
      readonly window: number;
      readonly orders: readonly { order: number; price: number }[];
    }
  | { readonly kind: 'compact' };

const orders = fc.array(fc.record({ order: fc.integer({ min: 0, max: 3 }), price: fc.integer({ min: 1, max: 2 }) }), {
  minLength: 1,
  maxLength: 4,
});
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({ kind: fc.constant('read' as const), window: fc.integer({ min: 3, max: 6 }), orders }),
  },
  { weight: 2, arbitrary: fc.constant({ kind: 'compact' as const }) },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant('import' as const), window: fc.integer({ min: 7, max: 8 }), orders }),
  },
);

const steps = fc.array(step, { minLength: 3, maxLength: 5 });

async function play(lake: string, one: Step): Promise<void> {
  if (one.kind === 'compact') {
    await compacted({ lake }, { clock });
    return;
  }
  const { window, kind } = one;
  const events = one.orders.map(({ order, price }) =>
    shipment(within(window, order * 60), `order-${window}-${order}`, `${price}.25`),
  );
  if (kind === 'read') await refreshed(lake, new Map([[window, events]]), { clock, acceptEmpty: true });
  else {
    const file = await fileOf([eventsBody(events.map((json) => ({ list: 'ShipmentEventList', json })))]);
    await imported({ root: lake, clock }, [file], { account: 'shop' });
  }
}

async function lakeWith(steps: readonly Step[], retentionHours = 1_000_000): Promise<string> {
  const lake = join(await temporaryFolder(), 'lake');
  await play(lake, {
    kind: 'read',
    window: 3,
    orders: [
      { order: 0, price: 1 },
      { order: 1, price: 1 },
    ],
  });
  await (await open(lake, clock)).setRetention(retentionHours);
  for (const one of steps) await play(lake, one);
  return lake;
}

test(
  'Changes between any two versions lead from the rows of one to those of the other',
  { timeout: 300_000 },
  async () => {
    await fc.assert(
      fc.asyncProperty(steps, fc.nat(), fc.subarray(excludable), async (steps, seed, exclude) => {
        const folder = await mkdtemp(join(tmpdir(), 'ledgerlake-test-'));
        const database = await openDatabase();
        try {
          const lake = await lakeWith([]);
          const kept = new KeptVersions(database, lake);
          const versions = [await kept.keep()];
          for (const [at, one] of steps.entries()) {
            await play(lake, one);
            const now = await kept.keep();
            // The version before, and one drawn from all before and from the empty lake.
            for (const from of [versions.at(-1), versions[(seed + at) % (versions.length + 1)]]) {
              const file = join(folder, 'changes.ndjson');
              const since = from && readSince(from.version);
              const { tables, catalog } = await changed({ lake, since, file, exclude });
              expect(`${catalog.version}:${catalog.hash}`).toBe(now.version);
              const none = [0, 0, 0];
              expect(await kept.differences(from?.name, now.name, file, exclude)).toEqual({
                events: none,
                entries: none,
                event_history: none,
              });
              if (one.kind === 'compact' && from === versions.at(-1)) expect(tables).toEqual({});
              const last = (await readFile(file, 'utf8')).trimEnd().split('\n').at(-1) ?? '';
              expect(JSON.parse(last)).toEqual({ _version: catalog.version, _hash: catalog.hash });
            }
            versions.push(now);
          }
        } finally {
          database.close();
          await rm(folder, { recursive: true });
        }
      }),
      { numRuns: 3, endOnFailure: true },
    );
  },
);

test('A table as Parquet has the rows of the lines, and an instant is the version that was the newest then', async () => {
  const late: Step = {
    kind: 'read',
    window: 3,
    orders: [
      { order: 0, price: 2 },
      { order: 1, price: 1 },
      { order: 1, price: 1 },
    ],
  };
  const lake = await lakeWith([]);
  const { catalog } = await changed({ lake, file: join(await temporaryFolder(), 'all.ndjson') });
  await play(lake, late);
  const folder = await temporaryFolder();
  const [lines, parquet] = [join(folder, 'entries.ndjson'), join(folder, 'entries.parquet')];
  const since = readSince(String(catalog.version));
  const summary = await changed({ lake, since, tables: ['entries'], file: lines });
  expect(summary.tables).toEqual({ entries: { inserted: 4, deleted: 2 } });
  expect(await changed({ lake, since, tables: ['entries'], file: parquet })).toEqual(summary);
  const passed: RowChange[] = [];
  const ofLibrary = await libraryChanges({
    lake,
    since: catalog.version,
    tables: ['entries'],
    onChange: (change) => passed.push(change),
  });
  expect(ofLibrary).toEqual(summary);
  expect(passed.map(({ table, change, row }) => [table, change, row['amount']])).toEqual([
    ...[
      ['entries', 'delete', '1.250000'],
      ['entries', 'delete', '-1.500000'],
    ],
    ...[
      ['entries', 'insert', '2.250000'],
      ['entries', 'insert', '-1.500000'],
    ],
    ...[
      ['entries', 'insert', '1.250000'],
      ['entries', 'insert', '-1.500000'],
    ],
  ]);
  const database = await openDatabase();
  onTestFinished(() => {
    database.close();
  });
  const rows = await database.rows(
    `SELECT _change_type, account, month, amazon_order_id, name, amount FROM ${fileLiteral(parquet)} ORDER BY ALL`,
  );
  const row = (change: string, order: number, name: string, amount: string) => ({
    _change_type: change,
    account: 'shop',
    month: '2026-01',
    amazon_order_id: `order-3-${order}`,
    name,
    amount,
  });
  expect(rows).toEqual([
    row('delete', 0, 'Commission', '-1.500000'),
    row('delete', 0, 'Principal', '1.250000'),
    row('insert', 0, 'Commission', '-1.500000'),
    row('insert', 0, 'Principal', '2.250000'),
    row('insert', 1, 'Commission', '-1.500000'),
    row('insert', 1, 'Principal', '1.250000'),
  ]);
});

describe('What is lost is said, and nothing is written', () => {
  const late: Step = { kind: 'read', window: 3, orders: [{ order: 2, price: 1 }] };

  async function refusal(lake: string, since: string): Promise<unknown> {
    const file = join(await temporaryFolder(), 'changes.ndjson');
    const failed: unknown = await changed({ lake, since: readSince(since), file }).catch((error: unknown) => error);
    await expect(readFile(file)).rejects.toThrow('ENOENT');
    return failed;
  }

  test('where replaced files are deleted', async () => {
    const lake = await lakeWith([], 0);
    const { snapshot } = await open(lake, clock);
    await play(lake, late);
    expect(await refusal(lake, String(snapshot.version))).toMatchObject({
      code: 'LAKE_HISTORY',
      exitCode: 1,
      message: expect.stringMatching(/that were replaced since, got \d+ of \d+ deleted; set retentionHours/) as unknown,
    });
  });

  test('where commits are erased, the lake is an older copy or another one', async () => {
    const lake = await lakeWith([late]);
    const { snapshot } = await open(lake, clock);
    const found = (text: string) => ({ code: 'LAKE_HISTORY', message: expect.stringContaining(text) as unknown });
    const first = (await new CatalogFiles(openStore(lake)).commit(0))?.value.at ?? NaN;
    const before = `${new Date(first - 1).toISOString()}: its first is of ${new Date(first).toISOString()}; load everything`;
    expect(await refusal(lake, new Date(first - 1).toISOString())).toMatchObject(found(before));
    expect(await refusal(lake, '99')).toMatchObject(found(`up to ${snapshot.version}, the newest`));
    expect(await refusal(lake, `1:${'0'.repeat(64)}`)).toMatchObject(found('got another one'));
    const context = { clock, signal: new AbortController().signal, confirm: undefined, emit: () => undefined };
    await forgetIn(await open(lake, clock), Date.UTC(2026, 0, 2), { lake, account: 'shop', yes: true }, context);
    expect(await refusal(lake, '1')).toMatchObject(found('has erased'));
    expect(await refusal(lake, '2026-01-01')).toMatchObject(found('has erased'));
  });
});

test('The first call says that the next one needs retentionHours, where the lake keeps no replaced files', async () => {
  const [unset, set] = await Promise.all([lakeWith([], 0), lakeWith([])]);
  const messagesOf = async (lake: string, since?: number) => {
    const told: RunEvent[] = [];
    await libraryChanges({ lake, since, onEvent: (event) => told.push(event) });
    return told;
  };
  expect(await messagesOf(unset)).toEqual([
    { event: 'message', message: expect.stringMatching(/^[^\n]*changes --since[^\n]*set retentionHours/) as unknown },
  ]);
  expect(await messagesOf(unset, 1)).toEqual([]);
  expect(await messagesOf(set)).toEqual([]);
});

test('What names no version is refused with every form that does', async () => {
  const forms = /expected --since to be VERSION, VERSION:HASH, or an ISO 8601 date or instant/;
  for (const text of ['-1', '2026-13-01', '1:ab', ''])
    expect(() => readSince(text)).toThrow(
      expect.objectContaining({ code: 'USAGE', message: expect.stringMatching(forms) as unknown }) as Error,
    );
  const lake = await lakeWith([]);
  for (const since of [-1, 1.5, NaN, true]) {
    const expected = 'the option since of changes to be a version as a number, VERSION or VERSION:HASH, or an instant';
    await expect(libraryChanges({ lake, since: since as number })).rejects.toThrow(expected);
  }
  await expect(libraryChanges({ lake, since: '-1' })).rejects.toThrow('expected `since` to be VERSION');
  await expect(libraryChanges({ lake, tables: ['orders'] })).rejects.toThrow('expected `tables` to be');
  const later = libraryChanges({ lake, since: 100_000 });
  await expect(later).rejects.toMatchObject({
    code: 'LAKE_HISTORY',
    message: expect.stringMatching(/^expected `since` to be a version up to .*, without `since`$/) as unknown,
  });
  await expect(libraryChanges({ lake, exclude: ['positon'] })).rejects.toThrow(
    /^expected `exclude` to be columns .* got "positon"; did you mean position\?$/,
  );
  // One that other tables have.
  await expect(libraryChanges({ lake, tables: ['entries'], exclude: ['position'] })).resolves.toBeDefined();
  await expect(libraryChanges({ lake, tables: ['entries'], exclude: ['month'] })).rejects.toThrow(
    'expected `exclude` to be columns other than account and month, by which rows are compared, got month',
  );
});
