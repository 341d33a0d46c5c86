import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';

interface Packed {
  /** Bytes of the archive. */
  readonly size: number;
  readonly files: readonly { readonly path: string }[];
}

test('the package has what it needs and nothing else', async () => {
  const words = ['pack', '--dry-run', '--json', '--ignore-scripts'];
  const { stdout } = await promisify(execFile)('npm', words, { maxBuffer: 10_000_000 });
  const [packed] = JSON.parse(stdout) as [Packed];
  const paths = packed.files.map(({ path }) => path);
  const built = paths.filter((path) => path.startsWith('dist/'));
  // The README and what `init` writes lead there.
  const docs = (await readdir('docs')).map((name) => `docs/${name}`);
  expect(paths.filter((path) => path.startsWith('docs/')).toSorted()).toEqual(docs.toSorted());
  expect(paths.filter((path) => !built.includes(path) && !docs.includes(path)).toSorted()).toEqual([
    'CHANGELOG.md',
    'LICENSE',
    'README.md',
    'ledgerlake.schema.json',
    'package.json',
  ]);
  expect(built).toEqual(expect.arrayContaining(['dist/src/cli.js', 'dist/src/own/definition.d.ts']));
  // Each is the code or the types of a source: no map that leads nowhere, no test.
  for (const path of built) {
    const [, name] = /^dist\/((?:src|pipelines)\/.+?)(?:\.d\.ts|\.js)$/.exec(path) ?? [];
    expect([path, name !== undefined && existsSync(`${name}.ts`)]).toEqual([path, true]);
  }
  expect(packed.size).toBeLessThan(800_000);
});
