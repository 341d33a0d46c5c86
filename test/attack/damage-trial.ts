import { cpSync, existsSync, readFileSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { openDatabase } from '../../src/core/duckdb/connection.js';
import { literal } from '../../src/core/duckdb/literals.js';
import { truthOf } from '../lake/lake-truth.js';
import type { CommandProcess, Ended } from './command-process.js';
import { damageLake, damageLog, pathsOf, type Damage, type LogDamage } from './damages.js';
import { randomFrom, type Random } from './random.js';
import type { SeedLake } from './seed-lakes.js';

/** What a lake held before it was damaged. */
export interface Held {
  readonly seed: SeedLake;
  readonly tables: readonly string[];
  /** Size of each data file that counts, by its path within the lake. */
  readonly files: ReadonlyMap<string, number>;
  /** Files whose rows follow from imported ones, and the files of these: both are lost with them, as no service has them. */
  readonly ofImports: ReadonlyMap<string, string>;
  /** What `ledgerlake sql` says of its rows. */
  readonly rows: string;
}

/** What became of a lake that was damaged once. */
export interface Trial {
  readonly seed: number;
  readonly lake: string;
  readonly damage: Damage;
  /** Undefined where it held. */
  readonly fault: string | undefined;
  /** Whether a row was other than before, or couldn't be read. */
  readonly showed: boolean;
  readonly commands: readonly string[];
}

/** What a command may take, beside the 100 MB that it has before it does anything. */
const mostMegabytes = 500;
/** Longer lines than these on stderr are dumps. */
const longest = 700;
const stack =
  /\n\s+at .*:\d+:\d+|RuntimeError|unreachable|panicked|TypeError|RangeError|SyntaxError|undefined is not|\[object Object\]|uncaught/;

/** Reads what a lake holds, by `ledgerlake sql` and by a plain read of what its logs name. */
export async function heldBy(seed: SeedLake, process: CommandProcess): Promise<Held> {
  const files = new Map(pathsOf(seed.root).map((path) => [path, new Uint8Array(readFileSync(join(seed.root, path)))]));
  const truth = truthOf(files);
  // What follows the history isn't in the files' own tags.
  const history = [...truth.live.keys()].filter((path) => path.startsWith('event_history/'));
  const counted = [...new Set([...truth.counted, ...history])];
  const tables = [...new Set(counted.map((path) => path.slice(0, path.indexOf('/'))))];
  const verdict = await process.run(['verify', '--lake', seed.root]);
  if (verdict.code !== 0) throw new Error(`expected a whole lake ${seed.name}: ${verdict.out}${verdict.err}`);
  const read = await process.run(rowsQuery(seed.root, tables));
  if (read.code !== 0) throw new Error(`expected the rows of ${seed.name}: ${read.err}`);
  const plain = await plainRows(seed.root, tables, counted);
  if (plain !== read.out.trim()) throw new Error(`expected ${plain} of ${seed.name}, ledgerlake sql gives ${read.out}`);
  const sizes = new Map(counted.map((path) => [path, files.get(path)?.length ?? 0]));
  const ofImports = new Map(
    [...truth.live].flatMap(([path, { tags }]) => {
      const main = tags?.['main'] ?? '';
      return truth.live.get(main)?.tags?.['loadKeys']?.includes('"imported/') === true ? [[path, main] as const] : [];
    }),
  );
  return { seed, tables, files: sizes, ofImports, rows: plain };
}

/** Damages a copy of a lake. */
export type Damages = (copy: string, random: Random) => Damage | Promise<Damage>;

/** Files and damages as chance has it. */
export const someDamages: Damages = (copy, random) =>
  joined(Array.from({ length: random.of([1, 1, 1, 2, 5]) }, () => damageLake(copy, random)));

/** Damages a copy of a lake, runs commands over it, and judges. The same seed does the same. */
export async function damageTrial(
  seed: number,
  damages: Damages,
  lakes: readonly Held[],
  process: CommandProcess,
  copy: string,
): Promise<Trial> {
  const random = randomFrom(seed);
  const held = random.of(lakes);
  cpSync(held.seed.root, copy, { recursive: true });
  const damage = await damages(copy, random);
  const judge = new Judge(held, damage, copy, process);
  try {
    const before = await judge.rows();
    if (before !== held.rows || random.chance(0.15)) await judge.verify(before);
    const writers = random.of([0, 1, 1, 2]);
    if (writers === 0 || random.chance(0.3)) await judge.run(random.of(held.seed.readers));
    for (let left = writers; left > 0; left--) {
      await judge.run(random.of(held.seed.writers));
      await judge.conserved();
    }
    if (writers > 0) {
      const after = await judge.rows();
      if (after !== held.rows || random.chance(0.15)) await judge.verify(after);
    }
    if (random.chance(0.5)) {
      await judge.repaired(random.chance(0.5));
      await judge.conserved({ isRepaired: true });
    }
    return {
      seed,
      lake: held.seed.name,
      damage,
      fault: undefined,
      showed: before !== held.rows,
      commands: judge.commands,
    };
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    return { seed, lake: held.seed.name, damage, fault: error.message, showed: true, commands: judge.commands };
  } finally {
    rmSync(copy, { recursive: true, force: true });
  }
}

/**
 * Damages the log of a copy, and runs every command of the lake: each fails, names what brings the log back, and leaves all
 * files as they are. That brings it back, and deletes no row.
 */
export async function lostLogTrial(
  seed: number,
  held: Held,
  kind: LogDamage,
  process: CommandProcess,
  copy: string,
): Promise<Trial> {
  cpSync(held.seed.root, copy, { recursive: true });
  const damage = damageLog(copy, kind);
  const judge = new Judge(held, damage, copy, process);
  const trial = { seed, lake: held.seed.name, damage, showed: true, commands: judge.commands };
  const stored = (): string => dataFilesOf(copy).join('\n');
  try {
    const before = stored();
    const { readers, writers } = held.seed;
    for (const words of [...readers, ...writers, ['forget', '--account', 'shop', '--yes']]) {
      const { err } = await judge.run(words);
      if (!/LAKE_LOG: .*ledgerlake repair/.test(err)) throw new Fault(`${words.join(' ')} names no way out: ${err}`);
      if (stored() !== before) throw new Fault(`${words.join(' ')} has changed data files`);
    }
    await judge.repaired(true);
    const after = await judge.rows();
    if (after !== held.rows) throw new Fault(`repair lost rows: ${difference(held.rows, after ?? '')}`);
    return { ...trial, fault: undefined };
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    return { ...trial, fault: error.message };
  } finally {
    rmSync(copy, { recursive: true, force: true });
  }
}

/** Several damages as one. */
function joined(damages: readonly Damage[]): Damage {
  const [first] = damages.toSorted((a, b) => Number(b.file === 'log') - Number(a.file === 'log'));
  if (first === undefined) throw new Error('expected a damage');
  const text = damages.map((damage) => damage.text).join('; ');
  return { ...first, text, destroyed: new Set(damages.flatMap(({ destroyed }) => [...destroyed])) };
}

/** Every data file of a lake. */
function dataFilesOf(lake: string): string[] {
  return pathsOf(lake).filter((path) => path.endsWith('.parquet') && !path.includes('/_delta_log/'));
}

/** What ought not to be. */
class Fault extends Error {}

class Judge {
  readonly commands: string[] = [];
  readonly #held: Held;
  readonly #damage: Damage;
  readonly #lake: string;
  readonly #process: CommandProcess;
  #ended: Ended | undefined;
  #isRepaired = false;

  constructor(held: Held, damage: Damage, lake: string, process: CommandProcess) {
    this.#held = held;
    this.#damage = damage;
    this.#lake = lake;
    this.#process = process;
  }

  /** Runs a command, and looks at how it ends. */
  async run([command = '', ...words]: readonly string[]): Promise<Ended> {
    const ended = await this.#process.run([command, '--lake', this.#lake, ...words]);
    const text = [command, ...words].join(' ').slice(0, 120);
    this.commands.push(`${text} → ${ended.code}`);
    this.#ended = ended;
    const said = `${ended.err}${ended.out}`;
    if (ended.hung) throw new Fault(`${text} hangs`);
    if (ended.died) throw new Fault(`${text} dies: ${ended.err.slice(0, 1500)}`);
    const { megabytes = 0 } = ended;
    if (megabytes > mostMegabytes) throw new Fault(`${text} takes ${megabytes} MB more than at its start`);
    if (![0, 1, 2].includes(ended.code)) throw new Fault(`${text} ends with ${ended.code}`);
    if (stack.test(`\n${ended.err}`)) throw new Fault(`${text} shows its inside: ${ended.err.slice(0, 1500)}`);
    const long = ended.err.split('\n').find((line) => line.length > longest);
    if (long !== undefined) throw new Fault(`${text} says ${long.length} characters: ${long.slice(0, 300)}`);
    const passes = this.#damage.file === 'log' && ended.code === 0 && command !== 'repair' && !this.#isRepaired;
    if (command === 'repair' && ended.code === 0) this.#isRepaired = true;
    if (passes) throw new Fault(`${text} passes a log by`);
    if (ended.code !== 0 && said.trim() === '') throw new Fault(`${text} ends with ${ended.code} and says nothing`);
    return ended;
  }

  /** What the lake's reader says of all rows; undefined where it says nothing. */
  async rows(): Promise<string | undefined> {
    const [, , , ...words] = rowsQuery(this.#lake, this.#held.tables);
    const { code, out } = await this.run(['sql', ...words]);
    return code === 0 ? out.trim() : undefined;
  }

  /** What can't be read, or is read as something else, is found. */
  async verify(rows: string | undefined): Promise<void> {
    const { code } = await this.run(['verify']);
    if (code === 0 && rows === undefined) throw new Fault('verify says WHOLE of what can not be read');
    if (code === 0 && rows !== this.#held.rows) {
      throw new Fault(`verify says WHOLE of other rows: ${difference(this.#held.rows, rows ?? '')}`);
    }
  }

  /**
   * What is damaged is repaired, and the lake is whole then; its gaps are loaded again, with what belonged to damaged files.
   *
   * @param isVerified whether the lake is also verified before the loads, which takes as long as all of them
   */
  async repaired(isVerified: boolean): Promise<void> {
    await this.#succeeds(['repair', '--yes']);
    if (isVerified) await this.#succeeds(['verify']);
    const loads = this.#held.seed.writers.filter(([command = '']) => ['backfill', 'sync'].includes(command));
    for (const words of loads.filter((words) => !words.includes('--refresh'))) await this.#succeeds(words);
    await this.#succeeds(['verify']);
  }

  async #succeeds(words: readonly string[]): Promise<void> {
    const { code, out, err } = await this.run(words);
    if (code !== 0) throw new Fault(`${words.join(' ')} ends with ${code}: ${out.slice(-1500)}${err.slice(0, 1500)}`);
  }

  /** No command has deleted a row of a file that the damage had left, but for a repair those of events that are lost. */
  async conserved({ isRepaired = false } = {}): Promise<void> {
    const { files, seed, ofImports } = this.#held;
    const { destroyed } = this.#damage;
    const missing = [...files].filter(([path, size]) => {
      const now = join(this.#lake, path);
      const isLost = destroyed.has(path) || (isRepaired && destroyed.has(ofImports.get(path) ?? ''));
      return !isLost && (!existsSync(now) || statSync(now).size !== size);
    });
    const last = this.#ended;
    const lost =
      missing.length === 0
        ? []
        : await lostRows(
            seed.root,
            this.#lake,
            missing.map(([path]) => path),
            this.#damage.destroyed,
          );
    if (lost.length > 0) {
      throw new Fault(
        `${this.commands.at(-1) ?? ''} deleted rows: ${lost.join(', ').slice(0, 600)}\n${last?.err.slice(0, 600) ?? ''}`,
      );
    }
  }
}

function rowsQuery(lake: string, tables: readonly string[]): string[] {
  return ['sql', '--lake', lake, '--format', 'csv', rowsOf(tables.map((table) => [table, table]))];
}

/** How many rows each table has, how many ids, and a sum over the hashes of the rows. */
function rowsOf(sources: readonly (readonly [table: string, source: string])[]): string {
  return sources
    .map(
      ([table, source]) =>
        `SELECT '${table}' AS t, count(*) AS n, sum(hash(x)::HUGEINT)::VARCHAR AS h FROM (${rowsIn(table, source)}) x`,
    )
    .join(' UNION ALL ')
    .concat(' ORDER BY t');
}

/** Columns that say where a row stood in its answer: the windows of a listing and of an open settlement move on with each sync. */
const movingColumns: Readonly<Record<string, string>> = {
  groups: 'window_start, window_end',
  group_events: 'window_start, window_end, position',
};

/** Of what is loaded anew with other windows, also an event without a date is elsewhere in its window, and has the id of that instant. */
const placedColumns: Readonly<Record<string, string>> = {
  events: 'window_start, window_end, position',
  entries: '',
};

/** The rows that a table has after a load with other windows, too. */
function lastingRowsIn(table: string, source: string): string {
  const placed = placedColumns[table];
  if (placed === undefined) return rowsIn(table, source);
  const dated = ['event_id', 'effective_at', 'month'].map((name) => `if(posted_at IS NULL, NULL, ${name}) AS ${name}`);
  const columns = placed === '' ? '*' : `* EXCLUDE (${placed})`;
  return `SELECT ${columns} REPLACE (${dated.join(', ')}) FROM ${source}`;
}

function rowsIn(table: string, source: string): string {
  const moving = movingColumns[table];
  return moving === undefined ? `FROM ${source}` : `SELECT * EXCLUDE (${moving}) FROM ${source}`;
}

async function plainRows(root: string, tables: readonly string[], counted: readonly string[]): Promise<string> {
  const database = await openDatabase();
  try {
    const sources = tables.map(
      (table) =>
        [
          table,
          plainly(
            root,
            counted.filter((path) => path.startsWith(`${table}/`)),
          ),
        ] as const,
    );
    const rows = await database.rows(rowsOf(sources));
    return ['t,n,h', ...rows.map(({ t, n, h }) => [t, n, h].map(String).join(','))].join('\n');
  } finally {
    database.close();
  }
}

function plainly(root: string, paths: readonly string[]): string {
  const list = paths.map((path) => literal(join(root, path))).join(', ');
  return `read_parquet([${list}], union_by_name = true, hive_partitioning = true)`;
}

/** Rows of files that are gone, which no other file of their table in the lake has: `12 of 30 rows of PATH`. */
async function lostRows(
  before: string,
  after: string,
  paths: readonly string[],
  damaged: ReadonlySet<string>,
): Promise<string[]> {
  const database = await openDatabase();
  const lost: string[] = [];
  try {
    for (const table of new Set(paths.map((path) => path.slice(0, path.indexOf('/'))))) {
      const own = paths.filter((path) => path.startsWith(`${table}/`));
      const there: string[] = [];
      for (const path of pathsOf(after)) {
        // What stands in the place of another file may have other columns.
        if (!path.startsWith(`${table}/account=`) || damaged.has(path)) continue;
        const readable = await database
          .rows(`SELECT count(*) FROM (FROM ${plainly(after, [path])})`)
          .catch(() => undefined);
        if (readable !== undefined) there.push(path);
      }
      const old = `SELECT hash(x) FROM (${lastingRowsIn(table, plainly(before, own))}) x`;
      const now =
        there.length === 0
          ? 'SELECT 0::UBIGINT'
          : `SELECT hash(x) FROM (${lastingRowsIn(table, plainly(after, there))}) x`;
      const [row] = await database.rows(`SELECT count(*) AS n FROM (${old} EXCEPT ALL ${now})`);
      if (Number(row?.['n']) > 0) lost.push(`${String(row?.['n'])} of ${own.join(' and ')}`);
    }
    return lost;
  } finally {
    database.close();
  }
}

function difference(before: string, after: string): string {
  const old = new Set(before.split('\n'));
  const other = after.split('\n').filter((line) => !old.has(line));
  return `${other.join(' ')} in the place of ${before
    .split('\n')
    .filter((line) => !after.includes(line))
    .join(' ')}`;
}
