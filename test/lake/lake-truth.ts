import { createHash } from 'node:crypto';

/** A live file as the catalog has it. */
interface Add {
  readonly path: string;
  readonly partitionValues: Readonly<Record<string, string>>;
  readonly tags?: Readonly<Record<string, string>>;
}

/** A load key as the catalog has it. */
interface Key {
  readonly account: string;
  readonly pipeline: string;
  readonly key: string;
}

/** A lake as its files, its catalog and its published logs have it, read by nothing of the program's. */
export interface LakeTruth {
  /** Live files of each table, by path within the lake. */
  readonly live: ReadonlyMap<string, Add>;
  /** Their paths in order: no others count. */
  readonly counted: readonly string[];
  /** The load keys that were read. */
  readonly read: readonly Key[];
  /** Everything that is wrong with it. */
  readonly faults: readonly string[];
  /** Commits that aren't published yet: it may be so where a run was killed. */
  readonly unpublished: readonly string[];
}

interface TableChange {
  readonly add?: readonly Add[];
  readonly remove?: readonly Pick<Add, 'path'>[];
}

interface Commit {
  readonly version: number;
  readonly previous: string;
  readonly sha256: string;
  readonly tables: Readonly<Record<string, TableChange>>;
  readonly keys?: { readonly set?: readonly Key[]; readonly delete?: readonly Key[] };
}

type Action = Partial<Record<'add' | 'remove', Pick<Add, 'path'>>> & {
  readonly commitInfo?: { readonly catalog: { readonly version: number; readonly sha256: string } };
};

const text = (bytes: Uint8Array | undefined): string => Buffer.from(bytes ?? []).toString('utf8');
const tags = (add: Add, name: string): string[] => JSON.parse(add.tags?.[name] ?? '[]') as string[];
const hashOf = (bytes: Uint8Array | string): string => createHash('sha256').update(bytes).digest('hex');
const digits = (version: number): string => String(version).padStart(20, '0');

/** Follows the catalog from its first version and compares what it says with the files and published logs that are there. */
export function truthOf(files: ReadonlyMap<string, Uint8Array>): LakeTruth {
  const faults: string[] = [];
  const live = new Map<string, Add>();
  const read = new Map<string, Key>();
  const history = new Map<string, Commit[]>();
  const idOf = ({ account, pipeline, key }: Key) => `${pipeline}/${account}/${key}`;
  for (const commit of commitsOf(files, faults)) {
    for (const [table, change] of Object.entries(commit.tables)) {
      history.set(table, [...(history.get(table) ?? []), commit]);
      for (const { path } of change.remove ?? [])
        if (!live.delete(`${table}/${path}`))
          faults.push(`${commit.version} removes ${table}/${path}, which isn't live`);
      for (const add of change.add ?? []) live.set(`${table}/${add.path}`, add);
    }
    for (const key of commit.keys?.delete ?? []) read.delete(idOf(key));
    for (const key of commit.keys?.set ?? []) read.set(idOf(key), key);
  }
  for (const [path, { tags: told }] of live) {
    const bytes = files.get(path);
    if (bytes === undefined) faults.push(`${path} is live and isn't there`);
    else if (hashOf(bytes) !== told?.['sha256']) faults.push(`${path} has other bytes`);
    const main = told?.['main'];
    if (main !== undefined && !live.has(main)) faults.push(`${path} is derived from ${main}, which isn't live`);
  }
  const keys = [...read.values()];
  faults.push(...doubledUnits(live), ...unreadUnits(live, read), ...overlaps(keys));
  const unpublished = unpublishedOf(files, history, faults);
  return { live, counted: [...live.keys()].toSorted(), read: keys, faults, unpublished };
}

/** The commits in order; each must name the hash of the one before it. */
function commitsOf(files: ReadonlyMap<string, Uint8Array>, faults: string[]): Commit[] {
  const paths = [...files.keys()].filter((path) => /^_catalog\/\d{20}\.json$/.test(path)).toSorted();
  let previous = '0'.repeat(64);
  return paths.map((path, version) => {
    const document = text(files.get(path));
    const commit = JSON.parse(document) as Commit;
    if (path !== `_catalog/${digits(version)}.json` || commit.version !== version) faults.push(`no version ${version}`);
    const sealed = document.slice(0, document.lastIndexOf(',"sha256":'));
    if (hashOf(`${sealed}}`) !== commit.sha256) faults.push(`version ${version} has changed since it was sealed`);
    if (commit.previous !== previous) faults.push(`version ${version} doesn't follow the one before it`);
    previous = commit.sha256;
    return commit;
  });
}

/** Compares each table's Delta log with the commits that touch the table: it must have a beginning of them, in order. */
function unpublishedOf(
  files: ReadonlyMap<string, Uint8Array>,
  history: ReadonlyMap<string, readonly Commit[]>,
  faults: string[],
): string[] {
  const logs = new Map<string, string[]>();
  for (const path of [...files.keys()].toSorted()) {
    const [, table = ''] = /^([^/]+)\/_delta_log\/\d{20}\.json$/.exec(path) ?? [];
    if (table !== '') logs.set(table, [...(logs.get(table) ?? []), path]);
  }
  for (const [table, paths] of logs) {
    const commits = history.get(table) ?? [];
    for (const [version, path] of paths.entries()) {
      const commit = commits[version];
      const actions = text(files.get(path))
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line) as Action);
      const pathsOf = (some: readonly Pick<Add, 'path'>[]) => some.map((one) => one.path).join();
      const { add = [], remove = [] } = commit?.tables[table] ?? {};
      const isSame =
        path === `${table}/_delta_log/${digits(version)}.json` &&
        actions[0]?.commitInfo?.catalog.sha256 === commit?.sha256 &&
        pathsOf(actions.flatMap((action) => action.add ?? [])) === pathsOf(add) &&
        pathsOf(actions.flatMap((action) => action.remove ?? [])) === pathsOf(remove);
      if (!isSame) faults.push(`${path} isn't the catalog's`);
    }
  }
  return [...history].flatMap(([table, commits]) =>
    commits.slice(logs.get(table)?.length ?? 0).map(({ version }) => `${table}: version ${version} of the catalog`),
  );
}

/** Files of one table and partition that hold the same load key: its rows would count twice. */
function doubledUnits(live: ReadonlyMap<string, Add>): string[] {
  const seen = new Set<string>();
  return [...live].flatMap(([path, add]) => {
    // The history has the changes of a load key, each in a file of its own.
    if (path.startsWith('event_history/')) return [];
    const partition = path.slice(0, path.lastIndexOf('/'));
    return tags(add, 'loadKeys').flatMap((loadKey) => {
      const key = `${partition} ${add.tags?.['pipeline'] ?? ''} ${loadKey}`;
      if (seen.has(key)) return [`${loadKey} is in two files of ${partition}`];
      seen.add(key);
      return [];
    });
  });
}

/** Load keys of files that the catalog doesn't have: nobody would replace their rows. */
function unreadUnits(live: ReadonlyMap<string, Add>, read: ReadonlyMap<string, Key>): string[] {
  return [...live].flatMap(([path, add]) => {
    if (path.startsWith('event_history/')) return [];
    const owner = `${add.tags?.['pipeline'] ?? ''}/${add.partitionValues['account'] ?? ''}`;
    const unread = tags(add, 'loadKeys').filter((loadKey) => !read.has(`${owner}/${loadKey}`));
    return unread.map((loadKey) => `${path} has rows of ${loadKey}, which wasn't read`);
  });
}

/** Windows of one pipeline and account that share an instant. */
function overlaps(read: readonly Key[]): string[] {
  const windows = read.flatMap(({ account, pipeline, key }) => {
    const [, start = '', end = ''] = /^window\/([^/]+)\/([^/]+)$/.exec(key) ?? [];
    return start === '' ? [] : [{ owner: `${pipeline}/${account}`, start: Date.parse(start), end: Date.parse(end) }];
  });
  const sorted = windows.toSorted((a, b) => (a.owner < b.owner ? -1 : a.owner > b.owner ? 1 : a.start - b.start));
  return sorted.flatMap((window, at) => {
    const next = sorted[at + 1];
    return next?.owner === window.owner && next.start < window.end ? [`windows of ${window.owner} overlap`] : [];
  });
}

/** Parquet files in partition folders, as a plain glob finds them. */
export function globbed(files: ReadonlyMap<string, Uint8Array>): string[] {
  return [...files.keys()]
    .filter((path) => /^[^/]+\/account=[^/]*\/month=[^/]*\/[^/]*\.parquet$/.test(path))
    .toSorted();
}

/** What the lake holds: table, partition and content of every file that counts, without the run and number in their names. */
export function contents(files: ReadonlyMap<string, Uint8Array>): string[] {
  return truthOf(files)
    .counted.map(
      (path) => `${path.replace(/-\d+-[0-9a-z]+-\d+\.parquet$/, '')} ${hashOf(files.get(path) ?? new Uint8Array())}`,
    )
    .toSorted();
}
