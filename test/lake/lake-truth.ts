import { createHash } from 'node:crypto';

/** A live file as the log has it. */
interface Add {
  readonly path: string;
  readonly tags?: Readonly<Record<string, string>>;
}

/** A lake as its files and logs have it, read by nothing of the program's. */
export interface LakeTruth {
  /** Live files of each table, by path within the lake. */
  readonly live: ReadonlyMap<string, Add>;
  /** Paths of the files that count: those of main tables, and what they name. */
  readonly counted: readonly string[];
  /** What was read, by table: ids of transactions. */
  readonly read: ReadonlyMap<string, readonly string[]>;
  /** Everything that is wrong with it. */
  readonly faults: readonly string[];
  /** What counts and isn't live in its own table: it may be so between two commits of a merge. */
  readonly unlisted: readonly string[];
}

type Action = Partial<Record<'add' | 'remove', Add>> & { readonly txn?: { readonly appId: string } };

const text = (bytes: Uint8Array): string => Buffer.from(bytes).toString('utf8');
const tags = (add: Add, name: string): string[] => JSON.parse(add.tags?.[name] ?? '[]') as string[];

/** Follows every log from its first version and holds what it says against the files that are there. */
export function truthOf(files: ReadonlyMap<string, Uint8Array>): LakeTruth {
  const faults: string[] = [];
  const live = new Map<string, Add>();
  const read = new Map<string, string[]>();
  for (const table of new Set([...files.keys()].flatMap((path) => /^([^/]+)\/_delta_log\//.exec(path)?.[1] ?? []))) {
    const ids = new Set<string>();
    const commits = [...files.keys()].filter((path) => /^\d{20}\.json$/.test(path.replace(`${table}/_delta_log/`, '')));
    for (const [version, path] of commits.toSorted().entries()) {
      if (!path.endsWith(`${String(version).padStart(20, '0')}.json`)) faults.push(`${table}: no version ${version}`);
      const lines = text(files.get(path) ?? new Uint8Array())
        .trimEnd()
        .split('\n');
      for (const { add, remove, txn } of lines.map((line) => JSON.parse(line) as Action)) {
        if (add !== undefined) live.set(`${table}/${add.path}`, add);
        if (remove !== undefined) live.delete(`${table}/${remove.path}`);
        if (txn !== undefined) ids.add(txn.appId);
      }
    }
    read.set(table, [...ids]);
  }
  const main = [...live].filter(([, add]) => add.tags?.['derived'] !== undefined);
  const named = main.flatMap(([, add]) => tags(add, 'derived'));
  for (const [path, { tags: told }] of live) {
    const bytes = files.get(path);
    if (bytes === undefined) faults.push(`${path} is live and isn't there`);
    else if (createHash('sha256').update(bytes).digest('hex') !== told?.['sha256'])
      faults.push(`${path} has other bytes`);
  }
  for (const path of new Set(named)) if (!files.has(path)) faults.push(`${path} is named and isn't there`);
  const unlisted = [...new Set(named)].filter((path) => !live.has(path));
  const counted = [...new Set([...main.map(([path]) => path), ...named])].toSorted();
  faults.push(...doubledUnits(main), ...overlaps(read));
  return { live, counted, read, faults, unlisted };
}

/** Files of one table and partition that hold the same load key: its rows would count twice. */
function doubledUnits(main: readonly (readonly [string, Add])[]): string[] {
  const seen = new Set<string>();
  return main.flatMap(([path, add]) => {
    const partition = path.slice(0, path.lastIndexOf('/'));
    return tags(add, 'units').flatMap((loadKey) => {
      const key = `${partition} ${add.tags?.['pipeline'] ?? ''} ${loadKey}`;
      if (seen.has(key)) return [`${loadKey} is in two files of ${partition}`];
      seen.add(key);
      return [];
    });
  });
}

/** Windows of one table, pipeline and account that share an instant. */
function overlaps(read: ReadonlyMap<string, readonly string[]>): string[] {
  return [...read].flatMap(([table, ids]) => {
    const windows = ids.flatMap((id) => {
      const [, owner = '', start = '', end = ''] = /^(.*\/)window\/([^/]+)\/([^/]+)$/.exec(id) ?? [];
      return owner === '' ? [] : [{ owner, start: Date.parse(start), end: Date.parse(end) }];
    });
    const sorted = windows.toSorted((a, b) => (a.owner < b.owner ? -1 : a.owner > b.owner ? 1 : a.start - b.start));
    return sorted.flatMap((window, at) => {
      const next = sorted[at + 1];
      return next?.owner === window.owner && next.start < window.end
        ? [`${table}: windows of ${window.owner} overlap`]
        : [];
    });
  });
}

/** Parquet files in partition folders, as a plain glob finds them. */
export function globbed(files: ReadonlyMap<string, Uint8Array>): string[] {
  return [...files.keys()]
    .filter((path) => /^[^/]+\/account=[^/]*\/month=[^/]*\/[^/]*\.parquet$/.test(path))
    .toSorted();
}

/** What the lake holds: table, partition and content of every file that counts, without the numbers in their names. */
export function contents(files: ReadonlyMap<string, Uint8Array>): string[] {
  return truthOf(files)
    .counted.map((path) => {
      const hash = createHash('sha256')
        .update(files.get(path) ?? new Uint8Array())
        .digest('hex');
      return `${path.replace(/(-\d+)?\.parquet$/, '')} ${hash}`;
    })
    .toSorted();
}
