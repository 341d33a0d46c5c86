import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { openDatabase } from '../../src/core/duckdb/connection.js';
import type { Random } from './random.js';
import { replacement } from './replacements.js';

export const damageKinds = ['flip', 'truncate', 'delete', 'swap', 'duplicate'] as const;
export type DamageKind = (typeof damageKinds)[number] | 'replace';

export const fileKinds = [
  ...['commit', 'checkpoint', 'hint', 'publication', 'published checkpoint', 'note'],
  ...['main file', 'derived file', 'history file', 'custom file', 'log'],
] as const;
export type FileKind = (typeof fileKinds)[number];

/** How often each kind of file is damaged, where the lake has any. */
const weights: Readonly<Record<FileKind, number>> = {
  commit: 5,
  checkpoint: 3,
  hint: 1.5,
  publication: 4,
  'published checkpoint': 2,
  note: 2,
  'main file': 2.5,
  'derived file': 2,
  'history file': 1.5,
  'custom file': 2,
  // The whole catalog, or whole `_delta_log` folders.
  log: 2,
};

/** What was done to a lake. */
export interface Damage {
  readonly kind: DamageKind;
  readonly file: FileKind;
  /** Which files, and how. */
  readonly text: string;
  /** Paths within the lake of files whose own bytes are gone. */
  readonly destroyed: ReadonlySet<string>;
}

export function kindOf(path: string): FileKind {
  if (path.startsWith('_catalog/_checkpoints/')) return 'checkpoint';
  if (path.startsWith('_catalog/')) return path.endsWith('.json') ? 'commit' : 'hint';
  if (path.startsWith('_')) return 'note';
  if (path.includes('/_delta_log/')) return /\/\d{20}\.json$/.test(path) ? 'publication' : 'published checkpoint';
  const table = path.slice(0, path.indexOf('/'));
  if (table === 'event_history') return 'history file';
  if (table.endsWith('entries')) return 'derived file';
  const isMain = /(events|transactions)$|^(groups|payouts|settlement_summaries)$/.test(table);
  return isMain ? 'main file' : 'custom file';
}

/** Every file of a lake, by its path within it, in order. */
export function pathsOf(lake: string): string[] {
  return readdirSync(lake, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(lake.length + 1))
    .toSorted();
}

/** Damages one file of a lake, or two, as the random numbers have it. */
export function damageLake(lake: string, random: Random): Damage {
  const byKind = new Map<FileKind, string[]>();
  for (const path of pathsOf(lake)) byKind.set(kindOf(path), [...(byKind.get(kindOf(path)) ?? []), path]);
  const kinds: readonly FileKind[] = [...byKind.keys(), 'log'];
  const file = random.weighted(kinds.map((kind) => [kind, weights[kind]] as const));
  if (file === 'log') return damageLog(lake, random.of(logDamages));
  const same = byKind.get(file) ?? [];
  const kind = random.of(damageKinds);
  const path = chosen(same, file, random);
  const all = [...byKind.values()].flat();
  const other = random.of((random.chance(0.75) && same.length > 1 ? same : all).filter((each) => each !== path));
  const damaged = { lake, path, other, file, random };
  return { kind, file, ...ways[kind](damaged) };
}

export const logDamages = [
  'the catalog is gone',
  'the end of the catalog is gone',
  'the first half of the catalog is gone, with its checkpoints',
] as const;
export type LogDamage = (typeof logDamages)[number];

/** Takes the catalog of a lake away, or a part of it: no command may pass that by. */
export function damageLog(lake: string, damage: LogDamage): Damage {
  const folder = join(lake, '_catalog');
  const commits = existsSync(folder) ? readdirSync(folder).filter((name) => name.endsWith('.json')) : [];
  const some = {
    'the catalog is gone': ['.'],
    'the end of the catalog is gone': [...commits.slice(-3), '_checkpoints', '_last-checkpoint'],
    'the first half of the catalog is gone, with its checkpoints': [
      ...commits.slice(0, commits.length / 2),
      ...['_checkpoints', '_last-checkpoint'],
    ],
  }[damage];
  for (const name of some) rmSync(join(folder, name), { recursive: true, force: true });
  return { kind: 'delete', file: 'log', text: damage, destroyed: new Set() };
}

/** Replaces a Parquet file of a lake by a foreign or damaged one. */
export async function replaceFile(lake: string, random: Random): Promise<Damage> {
  const name = random.of(pathsOf(lake).filter((path) => path.endsWith('.parquet')));
  const path = join(lake, name);
  const folder = `${lake}-made`;
  mkdirSync(folder);
  const database = await openDatabase();
  try {
    const by = await replacement({ path, bytes: readFileSync(path), database, folder }, random);
    writeFileSync(path, by.bytes);
    const text = `${name} replaced by ${by.name}`;
    return { kind: 'replace', file: kindOf(name), text, destroyed: new Set([name]) };
  } finally {
    database.close();
    rmSync(folder, { recursive: true });
  }
}

/** The newest commit is the one that nothing follows: it is taken more often than the others. Of notes each kind comes as often. */
function chosen(paths: readonly string[], kind: FileKind, random: Random): string {
  if (kind === 'note') {
    const first = random.of([...new Set(paths.map((path) => path.replace(/\/.*/, '')))]);
    return random.of(paths.filter((path) => path.replace(/\/.*/, '') === first));
  }
  const isOfChain = kind === 'commit' || kind === 'publication';
  if (!isOfChain || !random.chance(0.2)) return random.of(paths);
  const folder = random.of(paths).replace(/[^/]*$/, '');
  return paths.filter((path) => path.startsWith(folder)).at(-1) ?? random.of(paths);
}

interface Target {
  readonly lake: string;
  readonly path: string;
  /** Another file. */
  readonly other: string;
  readonly file: FileKind;
  readonly random: Random;
}

type Done = Pick<Damage, 'text' | 'destroyed'>;

const ways: Readonly<Record<(typeof damageKinds)[number], (target: Target) => Done>> = {
  flip,
  truncate,
  delete: gone,
  swap,
  duplicate,
};

function flip({ lake, path, random }: Target): Done {
  const bytes = readFileSync(join(lake, path));
  if (bytes.length === 0) return truncateTo(lake, path, 0);
  const at = random.below(bytes.length);
  const bit = random.below(8);
  bytes.writeUInt8(bytes.readUInt8(at) ^ (1 << bit), at);
  writeFileSync(join(lake, path), bytes);
  return { text: `bit ${bit} of byte ${at} of ${path} flipped`, destroyed: new Set([path]) };
}

function truncate({ lake, path, random }: Target): Done {
  const { length } = readFileSync(join(lake, path));
  return truncateTo(lake, path, random.chance(0.2) ? 0 : random.below(length));
}

function truncateTo(lake: string, path: string, length: number): Done {
  writeFileSync(join(lake, path), readFileSync(join(lake, path)).subarray(0, length));
  return { text: `${path} cut off behind ${length} bytes`, destroyed: new Set([path]) };
}

function gone({ lake, path }: Target): Done {
  rmSync(join(lake, path));
  return { text: `${path} deleted`, destroyed: new Set([path]) };
}

function swap({ lake, path, other }: Target): Done {
  const [own, others] = [readFileSync(join(lake, path)), readFileSync(join(lake, other))];
  writeFileSync(join(lake, path), others);
  writeFileSync(join(lake, other), own);
  return { text: `${path} and ${other} swapped`, destroyed: new Set([path, other]) };
}

function duplicate(target: Target): Done {
  const { lake, path, other, random } = target;
  if (random.chance(0.5)) {
    copyFileSync(join(lake, path), join(lake, other));
    return { text: `${path} copied over ${other}`, destroyed: new Set([other]) };
  }
  const name = beside(target);
  const isNew = !existsSync(join(lake, name));
  mkdirSync(dirname(join(lake, name)), { recursive: true });
  copyFileSync(join(lake, path), join(lake, name));
  return { text: `${path} copied to ${name}`, destroyed: new Set(isNew ? [] : [name]) };
}

/** Another name that a file of the kind could have. */
function beside({ lake, path, file, random }: Target): string {
  const folder = dirname(path);
  const version = (number: number): string => String(number).padStart(20, '0');
  const newest = (): number =>
    Math.max(...readdirSync(join(lake, folder)).map((name) => Number(/^\d{20}/.exec(name)?.[0] ?? 0)));
  if (file === 'commit' || file === 'publication') {
    const at = random.chance(0.7) ? newest() + 1 : random.below(newest() + 4);
    return `${folder}/${version(at)}.json`;
  }
  if (file === 'checkpoint' || file === 'published checkpoint') {
    return path.replace(/\d{20}(?=[^/]*$)/, version(random.below(newest() + 3)));
  }
  if (file === 'hint' || file === 'note') {
    return random.chance(0.5) ? `${path}.copy` : path.replace(/[^/]+$/, (name) => `copy-${name}`);
  }
  if (random.chance(0.5)) return path.replace(/\d+\.parquet$/, '9999.parquet');
  return path.replace(/[0-9a-z]+(-\d+\.parquet)$/, `0123456789abcdef$1`);
}
