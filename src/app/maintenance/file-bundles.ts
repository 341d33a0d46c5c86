import type { PipelineTables } from '../../core/columns/table.js';
import type { WrittenFiles } from '../../lake/commit-files.js';
import type { DataFile } from '../../lake/delta/data-file.js';
import { bundleKey, bundlesOf, filesIn, type Bundle } from '../../lake/files/bundles.js';
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

/** The size of bundles' files in bytes. */
export function bundleBytes(bundles: readonly Bundle[]): number {
  return bytesOf(bundles.flatMap(filesIn));
}

export function bytesOf(files: readonly DataFile[]): number {
  return files.reduce((sum, { size }) => sum + size, 0);
}

/** Counts the files that replace bundles, and theirs. */
export function countReplacement(summary: RewriteSummary, written: WrittenFiles, bundles: readonly Bundle[]): void {
  summary.files += written.files;
  summary.bytes += written.bytes;
  summary.replacedFiles += bundles.flatMap(filesIn).length;
  summary.replacedBytes += bundleBytes(bundles);
}
