import { parseImportedKey } from '../../lake/loads/imported-days.js';
import { loadKeyWindow, type RecoveredFile } from './recovered-files.js';

/** Why a file with sound bytes is refused. */
type Refusal = 'replaced' | 'repeated' | 'undecided';

/** Compares files of one table that claim the same rows. */
export interface FileComparison {
  /** A text that is equal for two files with the same rows of a load key. */
  readonly digest: (file: RecoveredFile, loadKey: string) => Promise<string>;
  /** Whether both files have a row with the same id. */
  readonly sharesIds: (a: RecoveredFile, b: RecoveredFile) => Promise<boolean>;
}

export interface ChosenFiles {
  /** Files without a common row. */
  readonly chosen: readonly RecoveredFile[];
  readonly refused: ReadonlyMap<RecoveredFile, Refusal>;
}

/**
 * Chooses among files that claim the same windows, settlements or orders: the one with the newest version in the log, where it has
 * them; one of several with the same rows; else none.
 */
export async function chooseFiles(files: readonly RecoveredFile[], comparison: FileComparison): Promise<ChosenFiles> {
  const refused = new Map<RecoveredFile, Refusal>();
  const conflicts = await conflictsOf(files, comparison);
  const open = () => conflicts.filter(([a, b]) => !refused.has(a) && !refused.has(b));
  for (const [a, b] of open()) {
    if (refused.has(a) || refused.has(b) || a.version === undefined || b.version === undefined) continue;
    if (a.version !== b.version) refused.set(a.version < b.version ? a : b, 'replaced');
  }
  // Files that the log lacks are refused first, those with the fewest load keys before others.
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
  file: RecoveredFile,
  others: readonly RecoveredFile[],
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

type Pair = readonly [RecoveredFile, RecoveredFile];

/** The pairs of files that can't both be chosen. */
async function conflictsOf(files: readonly RecoveredFile[], { sharesIds }: FileComparison): Promise<Pair[]> {
  const found = new Map<RecoveredFile, Set<RecoveredFile>>();
  const note = (map: Map<RecoveredFile, Set<RecoveredFile>>, a: RecoveredFile, b: RecoveredFile): void => {
    if (a !== b && map.get(b)?.has(a) !== true) map.set(a, (map.get(a) ?? new Set<RecoveredFile>()).add(b));
  };
  // An import adds files to a day that has files.
  const mayShare = new Map<RecoveredFile, Set<RecoveredFile>>();
  const claims = files
    .flatMap((file) =>
      file.loadKeys.map((key) => ({ file, key, id: `${file.account} ${key}`, window: loadKeyWindow(key) })),
    )
    .toSorted((a, b) => (a.window?.start ?? 0) - (b.window?.start ?? 0));
  const byId = new Map<string, RecoveredFile[]>();
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
