import { parseImportedKey } from '../../lake/loads/imported-days.js';
import { windowOf, type StoredRows } from './recovered-files.js';

/** Why a file is not taken, though its bytes are sound. */
type Refusal = 'replaced' | 'repeated' | 'undecided';

/** How files of one table are compared where several claim the same rows. */
export interface FileComparison {
  /** A text that is the same for two files whose rows of a load key are the same. */
  readonly digest: (file: StoredRows, loadKey: string) => Promise<string>;
  /** Whether both files hold a row of the same id. */
  readonly sharesIds: (a: StoredRows, b: StoredRows) => Promise<boolean>;
}

interface ChosenFiles {
  /** No row is in two of them. */
  readonly chosen: readonly StoredRows[];
  readonly refused: ReadonlyMap<StoredRows, Refusal>;
}

/**
 * Chooses among files that claim the same windows, settlements or orders: the one that the log named last, where it names
 * them; one of those that hold the same rows; and where neither tells, none.
 */
export async function chooseFiles(files: readonly StoredRows[], comparison: FileComparison): Promise<ChosenFiles> {
  const refused = new Map<StoredRows, Refusal>();
  const conflicts = await conflictsOf(files, comparison);
  const open = () => conflicts.filter(([a, b]) => !refused.has(a) && !refused.has(b));
  for (const [a, b] of open()) {
    if (refused.has(a) || refused.has(b) || a.version === undefined || b.version === undefined) continue;
    if (a.version !== b.version) refused.set(a.version < b.version ? a : b, 'replaced');
  }
  // Those that the log doesn't name go first, and the smallest of them.
  const contested = new Set(open().flat());
  const byWeight = [...contested].toSorted(
    (a, b) =>
      Number(a.version !== undefined) - Number(b.version !== undefined) || a.loadKeys.length - b.loadKeys.length,
  );
  for (const file of byWeight) {
    if (!open().some((pair) => pair.includes(file))) continue;
    const others = [...contested].filter((other) => other !== file && !refused.has(other));
    if (await isRepeated(file, others, comparison)) refused.set(file, 'repeated');
  }
  for (const [a, b] of open()) {
    refused.set(a, 'undecided');
    refused.set(b, 'undecided');
  }
  return { chosen: files.filter((file) => !refused.has(file)), refused };
}

/** Whether other files hold the same rows of each of a file's load keys. */
async function isRepeated(
  file: StoredRows,
  others: readonly StoredRows[],
  { digest }: FileComparison,
): Promise<boolean> {
  for (const loadKey of file.loadKeys) {
    const rows = await digest(file, loadKey);
    let isFound = false;
    for (const other of others) {
      if (other.account !== file.account || !other.loadKeys.includes(loadKey)) continue;
      if ((await digest(other, loadKey)) === rows) isFound = true;
    }
    if (!isFound) return false;
  }
  return true;
}

type Pair = readonly [StoredRows, StoredRows];

/** The pairs of files of which not both can count. */
async function conflictsOf(files: readonly StoredRows[], { sharesIds }: FileComparison): Promise<Pair[]> {
  const found = new Map<StoredRows, Set<StoredRows>>();
  const note = (map: Map<StoredRows, Set<StoredRows>>, a: StoredRows, b: StoredRows): void => {
    if (a !== b && map.get(b)?.has(a) !== true) map.set(a, (map.get(a) ?? new Set<StoredRows>()).add(b));
  };
  // An import adds files to a day that has some.
  const mayShare = new Map<StoredRows, Set<StoredRows>>();
  const claims = files
    .flatMap((file) => file.loadKeys.map((key) => ({ file, key, id: `${file.account} ${key}`, window: windowOf(key) })))
    .toSorted((a, b) => (a.window?.start ?? 0) - (b.window?.start ?? 0));
  const byId = new Map<string, StoredRows[]>();
  let reaching: typeof claims = [];
  for (const claim of claims) {
    const { file, key, id, window } = claim;
    const isImported = parseImportedKey(key) !== undefined;
    for (const other of byId.get(id) ?? []) note(isImported ? mayShare : found, other, file);
    byId.set(id, [...(byId.get(id) ?? []), file]);
    if (window === undefined) continue;
    reaching = reaching.filter((before) => (before.window?.end ?? 0) > window.start);
    for (const before of reaching) {
      if (before.id !== id && before.file.account === file.account) note(found, before.file, file);
    }
    reaching.push(claim);
  }
  for (const [a, others] of mayShare) {
    for (const b of others) {
      const isKnown = found.get(a)?.has(b) === true || found.get(b)?.has(a) === true;
      if (!isKnown && (await sharesIds(a, b))) note(found, a, b);
    }
  }
  return [...found].flatMap(([a, others]) => [...others].map((b): Pair => [a, b]));
}
