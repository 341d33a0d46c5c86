import { readdir, readFile } from 'node:fs/promises';
import { dirname, join, normalize } from 'node:path';
import { expect, test } from 'vitest';

/** The project's own files that each source imports, type-only imports and `import()` included. */
async function importsOf(folders: readonly string[]): Promise<Map<string, string[]>> {
  const imports = new Map<string, string[]>();
  for (const folder of folders) {
    for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
      if (!entry.name.endsWith('.ts')) continue;
      const file = join(entry.parentPath, entry.name);
      const found = (await readFile(file, 'utf8')).matchAll(/(?:from|import)\s*\(?\s*'(\.[^']*)\.js'/g);
      imports.set(
        file,
        [...found].map(([, path = '']) => normalize(`${join(dirname(file), path)}.ts`)),
      );
    }
  }
  return imports;
}

/** A circle of imports that a file is part of, or leads to. */
function circleFrom(file: string, imports: ReadonlyMap<string, string[]>, done: Set<string>, path: string[]): string[] {
  if (path.includes(file)) return [...path.slice(path.indexOf(file)), file];
  if (done.has(file)) return [];
  for (const imported of imports.get(file) ?? []) {
    const circle = circleFrom(imported, imports, done, [...path, file]);
    if (circle.length > 0) return circle;
  }
  done.add(file);
  return [];
}

test('imports run one way, without circles', async () => {
  const imports = await importsOf(['src', 'pipelines']);
  expect(imports.size).toBeGreaterThan(100);
  const done = new Set<string>();
  for (const file of imports.keys()) expect(circleFrom(file, imports, done, [])).toEqual([]);
});

test('the engine knows nothing of finances', async () => {
  const engine = ['core', 'lake', 'engine', 'sources/custom'].map((name) => `src/${name}`);
  for (const [file, imported] of await importsOf(engine)) {
    expect([
      file,
      imported.filter((path) => /^(src\/(sources\/finances|serve|emulator)|pipelines)\//.test(path)),
    ]).toEqual([file, []]);
  }
});
