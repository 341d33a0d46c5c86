import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { openDatabase } from '../../src/core/duckdb/connection.js';
import type { LoadName, Measured } from './measure.js';
import { inputLists } from './input-lists.js';
import { writePages } from './pages.js';

interface Peer {
  readonly name: LoadName;
  readonly about: string;
  /** Part of the input that it gets; its figures are scaled. */
  readonly share: number;
  /** Its amounts have gone through floating point, so that its sums are right only nearly. */
  readonly isFloat?: true;
  /** What has to be there first. */
  readonly after?: LoadName;
}

const ours: Peer = { name: 'ours', about: 'ours, one thread', share: 1 };
const allPeers: readonly Peer[] = [
  ours,
  { name: 'import', about: '`ledgerlake import`, from its start to its end', share: 1 },
  { name: 'rebuild', about: '`ledgerlake rebuild` of that lake', share: 1, after: 'import' },
  { name: 'fromJson', about: 'DuckDB from_json + unnest, 2 threads', share: 1 },
  { name: 'readJson', about: 'DuckDB read_json(columns) + unnest, 2 threads', share: 1 },
  { name: 'objects', about: 'JSON.parse + tableFromJSON + writeParquet', share: 0.2, isFloat: true },
  { name: 'hyparquet', about: 'ours with hyparquet-writer', share: 0.2 },
];

interface Run extends Measured {
  readonly bytes: { readonly events: number; readonly entries: number };
}

/**
 * Prints what it takes to get from saved bodies to Parquet files of `events` and `entries`, ours and as others would do it:
 * medians over rounds in which all of them take turns, each in a process of its own. `node dist/modules/bench/load/run.js
 * [MEGABYTES] [ROUNDS] [NAME..]`, or `make bench SIZE=200 ROUNDS=3 LISTS=4 ONLY="import fromJson"`.
 */
async function run(megabytes: number, rounds: number, names: readonly string[]): Promise<void> {
  const peers = allPeers.filter(({ name }) => names.length === 0 || names.includes(name));
  const folder = await mkdtemp(join(tmpdir(), 'ledgerlake-bench-'));
  try {
    const runs = new Map<Peer, Run[]>(peers.map((peer) => [peer, []]));
    const inputs = new Map<number, string>();
    for (const { share } of peers) {
      if (inputs.has(share)) continue;
      inputs.set(share, join(folder, `pages-${share}`));
      await writePages(inputs.get(share) ?? '', megabytes * share * 1e6, 1);
    }
    const expected = new Map<number, RowsText>();
    for (let round = 1; round <= rounds; round++) {
      for (const peer of peers) {
        const output = join(folder, peer.name);
        await mkdir(output);
        if (peer.after !== undefined) {
          await measure({ name: peer.after }, inputs.get(peer.share) ?? '', output);
        }
        const measured = await measure(peer, inputs.get(peer.share) ?? '', output);
        await expectRows(peer, output);
        runs.get(peer)?.push({ ...measured, bytes: await sizes(output) });
        await rm(output, { recursive: true });
        const { seconds, cpuSeconds, peakMB } = measured;
        const took = `${seconds.toFixed(1)} s, ${cpuSeconds.toFixed(1)} CPU s, ${peakMB.toFixed(0)} MB`;
        console.error(`round ${round}: ${peer.about}: ${took}`);
      }
    }
    print(megabytes, rounds, runs);

    /** What ours makes of the peer's share of the input says what its files should hold. */
    async function expectRows({ share, about, isFloat }: Peer, output: string): Promise<void> {
      let rows = expected.get(share);
      if (rows === undefined) {
        const own = join(folder, 'expected');
        await mkdir(own);
        await measure(ours, inputs.get(share) ?? '', own);
        expected.set(share, (rows = await rowsIn(own)));
        await rm(own, { recursive: true });
      }
      const found = await rowsIn(output);
      const same = isFloat === true ? found.rounded === rows.rounded : found.exact === rows.exact;
      if (!same) throw new Error(`${about} made ${found.exact}, ours ${rows.exact}`);
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function measure({ name }: Pick<Peer, 'name'>, input: string, output: string): Promise<Measured> {
  const script = fileURLToPath(new URL('measure.js', import.meta.url));
  const { stdout } = await promisify(execFile)(process.execPath, [script, name, input, output]);
  return JSON.parse(stdout) as Measured;
}

/** What files hold, as texts to compare: events, and entries and sums by currency, as they are and rounded to cents. */
interface RowsText {
  readonly exact: string;
  readonly rounded: string;
}

async function rowsIn(folder: string): Promise<RowsText> {
  const database = await openDatabase();
  try {
    const text = async (sum: string) => {
      const events = await database.rows(`SELECT count(*)::VARCHAR AS events FROM '${glob(folder, 'events')}'`);
      const sums = await database.rows(
        `SELECT currency, count(*)::VARCHAR AS entries, ${sum} AS total FROM '${glob(folder, 'entries')}' GROUP BY 1 ORDER BY 1`,
      );
      return JSON.stringify([...events, ...sums]);
    };
    return {
      exact: await text('sum(amount)::VARCHAR'),
      rounded: await text('round(sum(amount)::DOUBLE, 2)::VARCHAR'),
    };
  } finally {
    database.close();
  }
}

/** A table's files: those of a lake, or those that lie in the folder itself. */
function glob(folder: string, table: string): string {
  const lake = join(folder, 'lake');
  return existsSync(lake) ? join(lake, table, '*', '*', '*.parquet') : join(folder, `${table}*.parquet`);
}

async function sizes(folder: string): Promise<Run['bytes']> {
  const bytes = { events: 0, entries: 0 };
  const root = existsSync(join(folder, 'lake')) ? join(folder, 'lake') : folder;
  for (const name of await readdir(root, { recursive: true })) {
    if (!name.endsWith('.parquet') || name.includes('_delta_log')) continue;
    bytes[name.startsWith('events') ? 'events' : 'entries'] += (await stat(join(root, name))).size;
  }
  return bytes;
}

function print(megabytes: number, rounds: number, runs: ReadonlyMap<Peer, readonly Run[]>): void {
  console.log(
    `${megabytes} MB of saved bodies of ${inputLists.length} lists to events and entries, medians of ${rounds} rounds in turn\n`,
  );
  const header = ['', 'seconds', 'of ours', 'CPU s', 'of ours', 'peak MB', 'events MB', 'entries MB'];
  const medians = [...runs].map(([peer, of]) => {
    const scaled = (value: (run: Run) => number) => median(of.map(value)) / peer.share;
    return {
      about: peer.share === 1 ? peer.about : `${peer.about} (${peer.share} of it, scaled)`,
      seconds: scaled(({ seconds }) => seconds),
      cpu: scaled(({ cpuSeconds }) => cpuSeconds),
      peak: median(of.map(({ peakMB }) => peakMB)),
      events: scaled(({ bytes }) => bytes.events / 1e6),
      entries: scaled(({ bytes }) => bytes.entries / 1e6),
    };
  });
  const [first] = medians;
  if (first === undefined) return;
  const rows = medians.map(({ about, seconds, cpu, peak, events, entries }) => [
    ...[about, seconds.toFixed(1), (seconds / first.seconds).toFixed(2), cpu.toFixed(1), (cpu / first.cpu).toFixed(2)],
    ...[peak.toFixed(0), events.toFixed(1), entries.toFixed(1)],
  ]);
  console.log(`| ${header.join(' | ')} |`);
  console.log(
    `| --- | ${header
      .slice(1)
      .map(() => '---:')
      .join(' | ')} |`,
  );
  for (const row of rows) console.log(`| ${row.join(' | ')} |`);
}

function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? (sorted[middle] ?? 0) : ((sorted[middle - 1] ?? 0) + (sorted[middle] ?? 0)) / 2;
}

const [, , megabytes = 200, rounds = 3, ...names] = process.argv;
await run(Number(megabytes), Number(rounds), names);
