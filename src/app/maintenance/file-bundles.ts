import type { Table, Family } from '../../core/columns/table.js';
import type { Add } from '../../lake/delta/actions.js';
import type { Transaction } from '../../lake/transaction/transaction.js';
import { fileAt } from '../../lake/transaction/references.js';
import { derivedOf, isDerivedFile } from '../../lake/delta/file-tags.js';
import type { Lake } from '../../lake/lake.js';

/** A committed file of a derived table. */
export interface DerivedFile {
  readonly table: Table;
  readonly add: Add;
}

/** A committed file of a main table with the derived files that it names. */
export interface Bundle {
  readonly main: Add;
  readonly derived: readonly DerivedFile[];
  /** Whether the log has all of its derived files, and nothing else names them. */
  readonly isWhole: boolean;
}

/** The bundles of a family's files, by path. One that isn't whole is mostly one that another run is at work on. */
export function bundlesOf(lake: Lake, family: Family, account: string | undefined): Bundle[] {
  const accounts = account === undefined ? [...lake.accounts()].toSorted() : [account];
  const adds = accounts
    .flatMap((of) => lake.files(family.pipeline, family.main.name, of))
    // A lasting table's own that doesn't count by itself yet, if at all.
    .filter((add) => !isDerivedFile(add));
  const { snapshot } = lake.table(family.main.name);
  return adds
    .toSorted((a, b) => (a.path < b.path ? -1 : 1))
    .map((main) => {
      const files = namesOf(main).map((path) =>
        snapshot.referenceCount(path) === 1 ? derivedFile(lake, family, path) : undefined,
      );
      const own = files.filter((file) => file !== undefined);
      return { main, derived: own, isWhole: own.length === files.length };
    });
}

/** The file of one of a family's derived tables with a path within the lake. */
function derivedFile(lake: Lake, { derived }: Family, path: string): DerivedFile | undefined {
  const found = fileAt(lake.tables, path);
  const table = derived.find(({ name }) => name === found?.table.schema.name);
  return found === undefined || table === undefined ? undefined : { table, add: found.add };
}

function namesOf(add: Add): readonly string[] {
  return derivedOf(add) ?? [];
}

/**
 * The bundles' main files as the log has them now; undefined where one of them isn't as it was read: only what is there
 * unchanged may be replaced by something that holds the same rows.
 */
function currentFiles(files: ReadonlyMap<string, Add>, bundles: readonly Bundle[]): Add[] | undefined {
  const current = bundles.flatMap(({ main }) => {
    const live = files.get(main.path);
    const same = (tag: string) => live?.tags?.[tag] === main.tags?.[tag];
    const isSame = live?.size === main.size && same('sha256') && same('derived') && same('units');
    return isSame ? [live] : [];
  });
  return current.length === bundles.length ? current : undefined;
}

/** What a transaction that takes the place of bundles has to do, while all of them are there. */
export function replacing(bundles: readonly Bundle[]): Transaction['decide'] {
  return ({ files }) => {
    const replaced = currentFiles(files, bundles);
    return replaced && { replaced, actions: [] };
  };
}

/** Bytes of a bundle's files by table. */
export function sizesOf({ main, derived }: Bundle): number[] {
  const sizes = new Map<Table, number>();
  for (const { table, add } of derived) sizes.set(table, (sizes.get(table) ?? 0) + add.size);
  return [main.size, ...sizes.values()];
}

/** How many files a bundle has. */
export function fileCountOf({ derived }: Bundle): number {
  return 1 + derived.length;
}

/** What a step over bundles comes to; undefined where it failed and another run has replaced one of them meanwhile. */
export async function whileLive<T>(
  lake: Lake,
  family: Family,
  bundles: readonly Bundle[],
  step: () => Promise<T>,
): Promise<T | undefined> {
  try {
    return await step();
  } catch (error) {
    await lake.refresh();
    if (currentFiles(lake.table(family.main.name).snapshot.files, bundles) !== undefined) throw error;
    return undefined;
  }
}
