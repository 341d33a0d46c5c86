import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import type { Change } from '../../src/lake/catalog/change.js';
import { seal } from '../../src/lake/catalog/commit.js';
import { changingTable, oddChanges } from './odd-changes.js';

/** Where an attack is made. */
export interface Scene {
  readonly lake: string;
  /** The folder of canaries. */
  readonly outside: string;
  /** Address of a server that ought not to be asked. */
  readonly network: string;
  /** The month whose rows have the secret that no link may give away. */
  readonly month: string;
}

export interface Attack {
  readonly kind: 'description' | 'path' | 'value' | 'link' | 'fifo';
  readonly name: string;
  readonly make: (scene: Scene) => void;
  /** Whether nothing of the linked month's rows is left in the lake itself. */
  readonly hasMovedAll?: boolean;
}

type Description = Record<string, unknown> & { columns: Record<string, unknown>[] };

/** A custom table in a commit. */
interface DescribedTable {
  readonly metaData: object;
  readonly description: Description;
}

type DescribedTables = Record<string, DescribedTable>;

const descriptionFields: Readonly<Record<string, (all: Description, sql: string, tables: DescribedTables) => void>> = {
  precision: ({ columns }, sql) => {
    setDigits(columns, { precision: `2) AS x; ${sql}; SELECT (1`, scale: 2 });
  },
  scale: ({ columns }, sql) => {
    setDigits(columns, { precision: 12, scale: `2)); ${sql}; --` });
  },
  type: ({ columns }, sql) => Object.assign(columns[0] ?? {}, { type: `VARCHAR); ${sql}; --` }),
  'own type': ({ columns }, sql) => Object.assign(columns[0] ?? {}, { type: 'decimal(12,2)', sqlType: sql }),
  column: ({ columns }, sql) => Object.assign(columns[0] ?? {}, { name: `a" AS b; ${sql}; --` }),
  table: (all, sql) => Object.assign(all, { name: `t" AS SELECT 1; ${sql}; --` }),
  'table as a path': (all, sql) => Object.assign(all, { name: `../../outside/folder'); ${sql}; --` }),
  sort: (all, sql) => Object.assign(all, { sort: [`1; ${sql}; --`] }),
  pipeline: (all, sql) => Object.assign(all, { customPipeline: `../shipments'; ${sql}; --` }),
  about: (all, sql) => Object.assign(all, { about: `'; ${sql}; --` }),
  'column of lines': (all, sql, tables) => {
    setLines(tables, all, { columns: [{ ...all.columns[0], name: `a" AS b; ${sql}; --` }] });
  },
  'table of lines': (all, sql, tables) => {
    setLines(tables, all, { name: `t" AS SELECT 1; ${sql}; --` });
  },
  'sort of lines': (all, sql, tables) => {
    setLines(tables, all, { sort: [`1; ${sql}; --`] });
  },
  'main table of lines': (all, sql, tables) => {
    setLines(tables, all, { linesOf: `t" AS SELECT 1; ${sql}; --` });
  },
  'table of lines that is another': (all, _, tables) => {
    setLines(tables, all, { name: 'events' });
  },
};

/** A table of lines, with some of its description changed. */
function setLines(tables: DescribedTables, { columns, name, customPipeline }: Description, change: object): void {
  const [column = {}] = columns;
  const lines = { name: 'shipment_lines', about: 'lines', columns: [column], sort: [column['name']] };
  const description = { ...lines, customPipeline, linesOf: name, ...change };
  tables[description.name] = { metaData: tables['shipments']?.metaData ?? {}, description };
}

function setDigits(columns: Record<string, unknown>[], digits: unknown): void {
  for (const column of columns) if (column['digits'] !== undefined) column['digits'] = digits;
}

const statements: Readonly<Record<string, (scene: Scene) => string>> = {
  COPY: ({ outside }) => `COPY (SELECT 1) TO '${outside}/.bashrc'`,
  ATTACH: ({ outside }) => `ATTACH '${outside}/attached.db' AS x; CREATE TABLE x.t AS SELECT 1`,
  read_text: ({ outside }) => `SELECT * FROM read_text('${outside}/canary.txt')`,
};

function descriptions(): Attack[] {
  return Object.entries(descriptionFields).flatMap(([field, set]) =>
    Object.entries(statements).map(([statement, sql]): Attack => ({
      kind: 'description',
      name: `${statement} as ${field}`,
      make: (scene) => {
        const isIts = ({ tables = {} }: Change) => tables['shipments']?.description !== undefined;
        changeCommit(scene, true, isIts, (commit) => {
          const tables = structuredClone(commit.tables) as unknown as DescribedTables;
          const { description } = tables['shipments'] ?? {};
          if (description === undefined) throw new Error('expected the description of shipments, got none');
          set(description, sql(scene), tables);
          return { ...commit, tables: tables as unknown as NonNullable<Change['tables']> };
        });
      },
    })),
  );
}

/** A main table whose part of a commit is attacked, and the one that is derived from it. */
const derivedTables = { events: 'entries', transactions: 'transaction_entries' } as const;

export type MainTable = keyof typeof derivedTables;

export const mainTables: readonly MainTable[] = ['events', 'transactions'];

/** Paths as an entry of a main table may have them, none of them in the folders of its account. */
const leading: Readonly<Record<string, (scene: Scene, main: MainTable) => string>> = {
  '../': (_, main) => `../../outside/${main}.parquet`,
  '../ behind its folder': ({ month }, main) => `account=shop/month=${month}/../../../../outside/${main}.parquet`,
  '..%2f': (_, main) => `..%2f..%2foutside%2f${main}.parquet`,
  '%2e%2e/ behind its folder': ({ month }, main) =>
    `account=shop/month=${month}/%2e%2e/%2e%2e/%2e%2e/%2e%2e/outside/${main}.parquet`,
  '..%5c': (_, main) => `..%5c..%5coutside%5c${main}.parquet`,
  absolute: ({ outside }, main) => `${outside}/${main}.parquet`,
  'file://': ({ outside }, main) => `file://${outside}/${main}.parquet`,
  's3://': (_, main) => `s3://bucket/${main}.parquet`,
  'http://': ({ network }, main) => `${network}/${main}.parquet`,
  'another account': ({ lake, month }, main) => {
    const folder = `account=other/month=${month}`;
    return `${folder}/${firstIn(join(lake, main, folder))}`;
  },
  'another table': (_, main) => `../${derivedTables[main]}/account=shop`,
  '%00': ({ month }) => `account=shop/month=${month}/%00.parquet`,
  '* as a name': ({ month }) => `account=shop/month=${month}/*.parquet`,
};

type Target = 'add' | 'remove' | 'main';

function paths(main: MainTable): Attack[] {
  const targets: Target[] = ['add', 'remove', 'main'];
  return Object.entries(leading).flatMap(([path, of], at) =>
    targets.map((target, place): Attack => {
      const isSealed = (at + place) % 2 === 0;
      return {
        kind: 'path',
        name: `${path} in ${target} of ${main}, ${isSealed ? 'sealed again' : 'seal stripped'}`,
        make: (scene) => {
          changeLog(scene, main, of(scene, main), target, isSealed);
        },
      };
    }),
  );
}

function changeLog(scene: Scene, main: MainTable, path: string, target: Target, isSealed: boolean): void {
  const bytes = readFileSync(join(scene.outside, `${main}.parquet`));
  const sha256 = createHash('sha256').update(bytes).digest('hex');
  const change = changingTable(({ add: adds = [], remove = [], ...table }) => {
    if (target === 'remove') {
      const gone = adds.map(({ partitionValues }) => ({ path, partitionValues, size: bytes.length, dataChange: true }));
      return { ...table, add: adds, remove: [...remove, ...gone] };
    }
    const changed = adds.map((add) =>
      target === 'add'
        ? { ...add, path, size: bytes.length, tags: { ...add.tags, sha256 } }
        : { ...add, tags: { ...add.tags, main: `${derivedTables[main]}/${path}` } },
    );
    return { ...table, remove, add: changed };
  });
  changeCommit(scene, isSealed, hasFileIn(main), (commit) => change(commit, main));
}

/**
 * Changes the last commit of a kind, and seals it and the ones behind it again, or takes its seal away.
 * Nothing is left that the catalog could be read from instead.
 */
function changeCommit(
  { lake }: Scene,
  isSealed: boolean,
  isIts: (commit: Change) => boolean,
  change: (commit: Change) => Change,
): void {
  const folder = join(lake, '_catalog');
  const names = readdirSync(folder).filter((name) => /^\d{20}\.json$/.test(name));
  const commits = names.map((name) => {
    const { sha256, ...commit } = JSON.parse(readFileSync(join(folder, name), 'utf8')) as Change & { sha256: string };
    return { name, commit, sha256 };
  });
  const at = commits.findLastIndex(({ commit }) => isIts(commit));
  let previous = commits[at - 1]?.sha256;
  for (const [place, { name, commit }] of commits.slice(at).entries()) {
    const changed = place === 0 ? change(commit) : commit;
    const next = { ...changed, ...(previous !== undefined && { previous }) };
    if (!isSealed) {
      writeFileSync(join(folder, name), JSON.stringify(next));
      break;
    }
    const { bytes, hash } = seal(next);
    writeFileSync(join(folder, name), bytes);
    previous = hash;
  }
  for (const name of ['_checkpoints', '_last-checkpoint']) rmSync(join(folder, name), { recursive: true, force: true });
}

function hasFileIn(main: MainTable): (commit: Change) => boolean {
  return ({ tables = {} }) => tables[main]?.add?.some(({ path }) => path.startsWith('account=shop')) === true;
}

function values(): Attack[] {
  return oddChanges.map(({ name, change }, at): Attack => ({
    kind: 'value',
    name,
    make: (scene) => {
      changeCommit(scene, at % 2 === 0, hasFileIn('events'), (commit) => change(commit, 'events'));
    },
  }));
}

function firstIn(folder: string): string {
  return readdirSync(folder).find((name) => name.endsWith('.parquet')) ?? '';
}

/** Places of a lake that something else is put in: each by a function that tells them. */
const places: Readonly<Record<string, (scene: Scene) => string[]>> = {
  'months of all tables': ({ lake, month }) =>
    tablesOf(lake)
      .map((table) => join(table, 'account=shop', `month=${month}`))
      .filter((folder) => existsSync(join(lake, folder))),
  'accounts of all tables': ({ lake }) =>
    tablesOf(lake)
      .map((table) => join(table, 'account=shop'))
      .filter((folder) => existsSync(join(lake, folder))),
  'all tables': ({ lake }) => tablesOf(lake),
  _journal: () => ['_journal'],
  _runs: () => ['_runs'],
  _tmp: () => ['_tmp'],
  _iceberg: () => ['_iceberg'],
  'what _iceberg holds of events': () => ['_iceberg/events/metadata'],
  'metadata of events': () => ['_iceberg/events/metadata/v1.metadata.json'],
  'the manifests of events': () => ['events/_symlink_format_manifest'],
  'a manifest of events': ({ month }) => [`events/_symlink_format_manifest/account=shop/month=${month}/manifest`],
  'files of a month': ({ lake, month }) =>
    tablesOf(lake).flatMap((table) => {
      const folder = join(table, 'account=shop', `month=${month}`);
      return existsSync(join(lake, folder)) ? readdirSync(join(lake, folder)).map((name) => join(folder, name)) : [];
    }),
  _catalog: () => ['_catalog'],
  'a commit': () => ['_catalog/00000000000000000001.json'],
  'the next commit': ({ lake }) => [`_catalog/${nextIn(join(lake, '_catalog'))}`],
  'the checkpoints': () => ['_catalog/_checkpoints'],
  'the hint': () => ['_catalog/_last-checkpoint'],
  '_last-run': () => ['_last-run'],
  'a file in _last-run': () => ['_last-run/shop.json'],
  'a file in _runs': () => ['_runs/run.json'],
  'a file in _tmp': () => ['_tmp/a.tmp'],
  'a file in _journal': () => ['_journal/page-1.json'],
  ...placesOfTable('events'),
  ...placesOfTable('transactions'),
};

/** Places of one main table and of what is derived from it. */
function placesOfTable(main: MainTable): Readonly<Record<string, (scene: Scene) => string[]>> {
  const derived = derivedTables[main];
  return {
    [`a month of ${main}`]: ({ month }) => [`${main}/account=shop/month=${month}`],
    [`the table ${main}`]: () => [main],
    [`the table ${derived}`]: () => [derived],
    [`_delta_log of ${main}`]: () => [`${main}/_delta_log`],
    [`_delta_log of ${derived}`]: () => [`${derived}/_delta_log`],
    [`a published version of ${main}`]: () => [`${main}/_delta_log/00000000000000000001.json`],
    [`the next version of ${main}`]: ({ lake }) => [`${main}/_delta_log/${nextIn(join(lake, main, '_delta_log'))}`],
    [`_last_checkpoint of ${main}`]: () => [`${main}/_delta_log/_last_checkpoint`],
    [`a stray data file of ${main}`]: ({ month }) => [`${main}/account=shop/month=${month}/stray.parquet`],
  };
}

function tablesOf(lake: string): string[] {
  return readdirSync(lake).filter((name) => existsSync(join(lake, name, '_delta_log')));
}

function nextIn(folder: string): string {
  const last = readdirSync(folder).findLast((name) => /^\d{20}\.json$/.test(name)) ?? '';
  return `${String(Number(last.slice(0, 20)) + 1).padStart(20, '0')}.json`;
}

/** What was at a place lies outside the lake from now on; where nothing was, a canary is what stands for it there. */
function moveOut({ lake, outside }: Scene, place: string): string {
  const from = join(lake, place);
  if (!existsSync(from) || (statSync(from).isDirectory() && readdirSync(from).length === 0)) {
    rmSync(from, { recursive: true, force: true });
    mkdirSync(dirname(from), { recursive: true });
    return /\.[a-z]+$|_last_checkpoint$/.test(basename(place)) ? join(outside, 'canary.json') : join(outside, 'folder');
  }
  const to = join(outside, 'moved', place);
  mkdirSync(dirname(to), { recursive: true });
  renameSync(from, to);
  return to;
}

const movedAll = new Set(['months of all tables', 'accounts of all tables', 'all tables', 'files of a month']);

function links(): Attack[] {
  return Object.entries(places).flatMap(([name, of]): Attack[] => [
    {
      kind: 'link',
      name,
      hasMovedAll: movedAll.has(name),
      make: (scene) => {
        for (const place of of(scene)) symlinkSync(moveOut(scene, place), join(scene.lake, place));
      },
    },
    {
      kind: 'link',
      name: `${name}, to nothing`,
      hasMovedAll: movedAll.has(name),
      make: (scene) => {
        for (const place of of(scene)) {
          moveOut(scene, place);
          symlinkSync(join(scene.outside, 'nothing'), join(scene.lake, place));
        }
      },
    },
  ]);
}

function fifos(): Attack[] {
  return Object.entries(places).map(([name, of]): Attack => ({
    kind: 'fifo',
    name,
    hasMovedAll: movedAll.has(name),
    make: (scene) => {
      for (const place of of(scene)) {
        moveOut(scene, place);
        const { status } = spawnSync('mkfifo', [join(scene.lake, place)]);
        if (status !== 0) throw new Error(`expected mkfifo to make ${place}`);
      }
    },
  }));
}

/** Every lake that an attacker hands over. */
export function attacks(): Attack[] {
  return [...descriptions(), ...mainTables.flatMap(paths), ...values(), ...links(), ...fifos()];
}
