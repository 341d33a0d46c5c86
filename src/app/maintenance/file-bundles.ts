import type { PipelineTables } from '../../core/columns/table.js';
import type { Snapshot } from '../../lake/catalog/snapshot.js';
import { withDerived, type CommitResult, type FileCommit, type NewFile } from '../../lake/commit-files.js';
import type { DataFile } from '../../lake/delta/data-file.js';
import { bundlesOf, derivedFiles, type Bundle, type Rewriting } from '../../lake/files/bundles.js';
import type { Lake } from '../../lake/lake.js';
import type { RewriteSummary, MaintenanceRun } from './command.js';

/** The bundles of a pipeline, each once. They are listed again each time: another run may replace files with one that isn't read yet. */
export class UnseenBundles {
  readonly #run: MaintenanceRun;
  readonly #pipeline: PipelineTables;
  readonly #seen = new Set<string>();

  /** Reports the number and the size of the files. */
  constructor(run: MaintenanceRun, pipeline: PipelineTables) {
    this.#run = run;
    this.#pipeline = pipeline;
    const planned = bundlesOf(run.lake, pipeline, run.account);
    const bytes = bytesOf(planned.map(({ main }) => main));
    run.emit({ event: 'files-planned', pipeline: pipeline.name, files: planned.length, bytes });
  }

  next(): Bundle | undefined {
    const { lake, account } = this.#run;
    const bundle = bundlesOf(lake, this.#pipeline, account).find((found) => !this.#seen.has(bundleKey(found)));
    if (bundle !== undefined) this.#seen.add(bundleKey(bundle));
    return bundle;
  }

  /** Leaves out what has come in the place of a bundle, where the run has written it. */
  leaveOut({ main }: Bundle, isOwn: (bundle: Bundle) => boolean): void {
    for (const live of bundlesOf(this.#run.lake, this.#pipeline, main.account)) {
      if (isOwn(live)) this.#seen.add(bundleKey(live));
    }
  }
}

/** A key of a bundle's files: names are used once. */
function bundleKey(bundle: Bundle): string {
  return filesIn(bundle)
    .map(({ path }) => path)
    .join(' ');
}

export function filesIn({ main, derived }: Bundle): readonly DataFile[] {
  return [main, ...derived];
}

/** The size of bundles' files in bytes. */
export function bundleBytes(bundles: readonly Bundle[]): number {
  return bytesOf(bundles.flatMap(filesIn));
}

export function bytesOf(files: readonly DataFile[]): number {
  return files.reduce((sum, { size }) => sum + size, 0);
}

/** Counts the files that replace bundles, and theirs. */
export function countReplacement(summary: RewriteSummary, written: CommitResult, bundles: readonly Bundle[]): void {
  summary.files += written.files;
  summary.bytes += written.bytes;
  summary.replacedFiles += bundles.flatMap(filesIn).length;
  summary.replacedBytes += bundleBytes(bundles);
}

/** Whether a snapshot has exactly these files of the bundles. Only then may files with the same rows replace them. */
export function areLive(snapshot: Snapshot, pipeline: PipelineTables, bundles: readonly Bundle[]): boolean {
  return bundles.every((bundle) => {
    const main = snapshot.file(pipeline.main.name, bundle.main.path);
    return (
      main !== undefined && bundleKey({ main, derived: derivedFiles(snapshot, pipeline, main) }) === bundleKey(bundle)
    );
  });
}

/** What came of a rewrite; `gone` where another run has replaced one of the bundles meanwhile: choose again. */
export type Rewritten =
  | { readonly outcome: 'gone' | 'unchanged' }
  | { readonly outcome: 'done'; readonly written: CommitResult; readonly added: readonly NewFile[] };

/**
 * Replaces bundles by what `transform` writes from them, in one commit.
 *
 * @param transform undefined: they stay as they are
 */
export async function rewriteBundles(
  { lake, pipeline }: Pick<Rewriting, 'lake' | 'pipeline'>,
  operation: string,
  bundles: readonly Bundle[],
  transform: () => Promise<readonly NewFile[] | undefined>,
): Promise<Rewritten> {
  // A missing file may have been replaced, which is no failure.
  const made = await whileLive(lake, pipeline, bundles, async () => ({ files: await transform() }));
  if (made === undefined) return { outcome: 'gone' };
  if (made.files === undefined) return { outcome: 'unchanged' };
  const commit = { operation, main: pipeline.main, files: made.files, decide: replacing(pipeline, bundles) };
  const written = await lake.commitFiles(commit);
  if (written.isCommitted) return { outcome: 'done', written, added: made.files };
  await lake.refresh();
  return { outcome: 'gone' };
}

/** The decision of a commit that replaces bundles, as long as all of them are unchanged. */
function replacing(pipeline: PipelineTables, bundles: readonly Bundle[]): FileCommit['decide'] {
  const mains = bundles.map(({ main }) => main);
  return (snapshot) => (areLive(snapshot, pipeline, bundles) ? { removed: withDerived(snapshot, mains) } : undefined);
}

/** Runs a step over bundles; returns undefined where it failed because another run has replaced one of them. */
export async function whileLive<T>(
  lake: Lake,
  pipeline: PipelineTables,
  bundles: readonly Bundle[],
  step: () => Promise<T>,
): Promise<T | undefined> {
  try {
    return await step();
  } catch (error) {
    await lake.refresh();
    if (areLive(lake.snapshot, pipeline, bundles)) throw error;
    return undefined;
  }
}
