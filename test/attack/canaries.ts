import { createHash } from 'node:crypto';
import { lstatSync, mkdirSync, readdirSync, readFileSync, readlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Texts that stand outside the lake, in the part of another account, or behind a link: no command of `shop` shows one. */
export const secrets = ['SECRET-OUTSIDE', 'SECRET-OTHER', 'SECRET-LINKED'] as const;

/** Puts files beside a lake that nobody but the test may touch, and a data file of each table as `outside/TABLE.parquet`. */
export function plantCanaries(outside: string, parquets: Readonly<Record<string, string>>): void {
  mkdirSync(join(outside, 'folder', '_delta_log'), { recursive: true });
  writeFileSync(join(outside, 'canary.txt'), 'SECRET-OUTSIDE in a text\n');
  writeFileSync(join(outside, '.bashrc'), '# SECRET-OUTSIDE\n');
  writeFileSync(join(outside, 'canary.json'), '{"SECRET-OUTSIDE":1}\n');
  for (const name of ['1.ndjson', 'page-1.json', 'a.tmp', 'run.json', '_delta_log/00000000000000000000.json']) {
    writeFileSync(join(outside, 'folder', name), '{"SECRET-OUTSIDE":1}\n');
  }
  for (const [table, path] of Object.entries(parquets)) {
    writeFileSync(join(outside, `${table}.parquet`), readFileSync(path));
  }
}

/** Everything in a folder by its path: kind, node, names, mode, size, time of the last change and bytes. */
export function canariesOf(outside: string): Map<string, string> {
  const found = new Map<string, string>();
  const look = (path: string): void => {
    const stats = lstatSync(path);
    const bytes = stats.isFile() ? createHash('sha256').update(readFileSync(path)).digest('hex') : '';
    const target = stats.isSymbolicLink() ? readlinkSync(path) : '';
    const { mode, size, mtimeMs, ino, nlink } = stats;
    found.set(path.slice(outside.length), [mode, size, mtimeMs, ino, nlink, bytes, target].join(' '));
    if (stats.isDirectory()) for (const name of readdirSync(path)) look(join(path, name));
  };
  look(outside);
  return found;
}

/** What has happened to canaries: `changed /canary.txt`. */
export function touched(before: ReadonlyMap<string, string>, after: ReadonlyMap<string, string>): string[] {
  const paths = new Set([...before.keys(), ...after.keys()]);
  return [...paths].flatMap((path) => {
    const [old, now] = [before.get(path), after.get(path)];
    if (old === now) return [];
    return [`${old === undefined ? 'created' : now === undefined ? 'deleted' : 'changed'} ${path}`];
  });
}

/** Secrets that a text shows, in the clear or as base64 or hex has them. */
export function secretsIn(text: string): string[] {
  const forms = (secret: string): string[] => [
    secret,
    Buffer.from(secret).toString('hex'),
    Buffer.from(secret).toString('base64').slice(0, 12),
  ];
  return secrets.filter((secret) => forms(secret).some((form) => text.includes(form)));
}
