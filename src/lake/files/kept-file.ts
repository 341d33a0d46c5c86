import type { TakenRows } from '../../core/parquet/writer.js';
import type { LocalParquet } from './local-parquet.js';
import type { Workspace } from './workspace.js';

/** A file that is being written as one of the workspace. Never unhandled where nobody waits for it any more. */
export function keptFile({ file }: TakenRows, keep: Workspace['keep']): Promise<LocalParquet> {
  const local = async (): Promise<LocalParquet> => {
    const { bytes, rows, stats } = await file;
    return { path: await keep(bytes), rows, stats };
  };
  return handled(local());
}

/** Whoever gives up waits for nothing more: what fails then is told by what it gave up for. */
export function handled<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => undefined);
  return promise;
}
