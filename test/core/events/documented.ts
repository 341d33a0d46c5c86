import { readFile } from 'node:fs/promises';

/** An event as `docs/logs.md` has it. */
export interface Documented {
  readonly level: string;
  readonly fields: readonly string[];
}

/** The events of `docs/logs.md` by their names. */
export async function documentedEvents(): Promise<Map<string, Documented>> {
  const page = await readFile('docs/logs.md', 'utf8');
  const rows = [...page.matchAll(/^\| `([a-z-]+)` +\| (debug|info|warn|error) +\|([^|]*)\|/gm)];
  return new Map(
    rows.map(([, name = '', level = '', cell = '']) => [
      name,
      { level, fields: [...cell.matchAll(/`(\w+)`/g)].map(([, field = '']) => field) },
    ]),
  );
}
