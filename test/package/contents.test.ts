import { execFile, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { dirname, join, normalize } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';

interface Packed {
  /** Bytes of the archive. */
  readonly size: number;
  readonly files: readonly { readonly path: string }[];
}

test('the package has what it needs and nothing else, and no link of its pages leads out of it', async () => {
  const words = ['pack', '--dry-run', '--json', '--ignore-scripts'];
  const { stdout } = await promisify(execFile)('npm', words, { maxBuffer: 10_000_000 });
  const [packed] = JSON.parse(stdout) as [Packed];
  const paths = packed.files.map(({ path }) => path);
  const built = paths.filter((path) => path.startsWith('dist/'));
  // The README and what `init` writes lead there.
  const whole: string[] = [];
  for (const folder of ['docs', 'deploy', 'examples']) {
    const entries = await readdir(folder, { recursive: true, withFileTypes: true });
    whole.push(...entries.filter((entry) => entry.isFile()).map(({ parentPath, name }) => join(parentPath, name)));
  }
  for (const path of whole) expect(paths).toContain(path);
  expect(paths.filter((path) => !built.includes(path) && !whole.includes(path)).toSorted()).toEqual([
    'CHANGELOG.md',
    'LICENSE',
    'README.md',
    'SECURITY.md',
    'ledgerlake.schema.json',
    'package.json',
  ]);
  expect(built).toEqual(expect.arrayContaining(['dist/src/cli.js', 'dist/src/index.js', 'dist/src/index.d.ts']));
  await expectWholeTypes('dist/src/index.d.ts', paths);
  // Code, the types of sources, and the licences of the packages that the code includes.
  for (const path of built) {
    const [, types] = /^dist\/(src\/.+)\.d\.ts$/.exec(path) ?? [];
    const isExpected =
      types === undefined ? /^dist\/src\/(?:[\w-]+\.js|LICENSES\.txt)$/.test(path) : existsSync(`${types}.ts`);
    expect([path, isExpected]).toEqual([path, true]);
  }
  let links = 0;
  for (const page of paths.filter((path) => path.endsWith('.md'))) {
    const text = await readFile(page, 'utf8');
    for (const [, target = ''] of text.matchAll(/\]\((?!https?:|mailto:)([^)#\s]+)/g)) {
      expect(paths, `what ${page} links to`).toContain(normalize(join(dirname(page), target)));
      links++;
    }
  }
  expect(links).toBeGreaterThan(20);
  expect(packed.size).toBeLessThan(950_000);
});

test('an error that a program does not catch is printed with a statement of the library, not with a file', () => {
  const url = pathToFileURL('dist/src/index.js').href;
  for (const call of ["openLake('nowhere')", 'changes({ table: 1 })', "backfill({ from: 'x' })"]) {
    const program = `import { openLake, changes, backfill } from ${JSON.stringify(url)}; await ${call};`;
    const { stderr } = spawnSync(process.execPath, ['--input-type=module', '--eval', program], { encoding: 'utf8' });
    expect(stderr).toContain('LedgerlakeError: expected ');
    expect(stderr.slice(0, stderr.indexOf('LedgerlakeError: ')).length).toBeLessThan(600);
  }
});

/** Types that import others which are not there are `any` to those who use them. */
async function expectWholeTypes(path: string, packed: readonly string[]): Promise<void> {
  const text = await readFile(path, 'utf8');
  for (const [, target = ''] of text.matchAll(/(?:from|import\()\s*'(\.[^']*)\.js'/g)) {
    const imported = `${normalize(join(dirname(path), target))}.d.ts`;
    expect(packed, `what ${path} imports`).toContain(imported);
    await expectWholeTypes(imported, packed);
  }
}

test('`make build` installs the types of all packages, and what else a build needs', async () => {
  const { devDependencies } = JSON.parse(await readFile('package.json', 'utf8')) as {
    devDependencies: Record<string, string>;
  };
  const types = Object.keys(devDependencies).filter((name) => name.startsWith('@types/'));
  const [, installed = ''] = /^COMPILER := (.*)$/m.exec(await readFile('Makefile', 'utf8')) ?? [];
  expect(installed.split(' ').toSorted()).toEqual(['rolldown', 'typescript', ...types].toSorted());
});
