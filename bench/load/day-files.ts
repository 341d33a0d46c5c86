import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';

export const dayMs = 86_400_000;

/** Saved response bodies of one day, one a line. */
export interface DayFile {
  readonly path: string;
  readonly bytes: number;
  /** Milliseconds since 1970; the day ends 24 hours later. */
  readonly start: number;
}

/** The files that `writePages` wrote, by day. */
export async function dayFiles(folder: string): Promise<DayFile[]> {
  const names = (await readdir(folder)).filter((name) => name.endsWith('.ndjson')).toSorted();
  return Promise.all(
    names.map(async (name) => {
      const path = join(folder, name);
      return { path, bytes: (await stat(path)).size, start: Date.parse(name.slice(0, 10)) };
    }),
  );
}
