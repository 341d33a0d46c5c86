import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import ts from 'typescript';
import { expect, test } from 'vitest';

/**
 * Words that no file name and no identifier of `src/` and `pipelines/` has, each with the term to use. A word that has gone
 * from the sources is added here.
 */
const refused: Readonly<Record<string, string>> = {
  barred: 'tombstone',
  come: 'a verb of the trade: arrive, receive, read',
  comes: 'a verb of the trade: arrive, receive, read',
  helpers: 'the concept of the file',
  manager: 'the concept of the file',
  noticed: 'warning',
  strike: 'fault',
  strikes: 'faults',
  tell: 'emit, log, report',
  telling: 'listener',
  tells: 'emit, log, report',
  utils: 'the concept of the file',
  whoever: 'a noun: caller, reader, writer',
};

/** `keptQuota` and `kept-quota` are `kept` and `quota`. */
function wordsOf(name: string): string[] {
  return name
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1 $2')
    .split(/[^A-Za-z]+/)
    .map((word) => word.toLowerCase());
}

function identifiersOf(path: string, source: string): Set<string> {
  const names = new Set<string>();
  const visit = (node: ts.Node): void => {
    if (ts.isIdentifier(node) || ts.isPrivateIdentifier(node)) names.add(node.text);
    ts.forEachChild(node, visit);
  };
  visit(ts.createSourceFile(path, source, ts.ScriptTarget.Latest));
  return names;
}

async function sourceFiles(): Promise<string[]> {
  const folders = await Promise.all(
    ['src', 'pipelines'].map(async (root) =>
      (await readdir(root, { recursive: true })).map((file) => join(root, file)),
    ),
  );
  return folders.flat().filter((file) => file.endsWith('.ts'));
}

test('names are made of the words of the field', async () => {
  const found: string[] = [];
  for (const file of await sourceFiles()) {
    const names = [file, ...identifiersOf(file, await readFile(file, 'utf8'))];
    for (const name of names) {
      for (const word of wordsOf(name)) {
        if (Object.hasOwn(refused, word)) found.push(`${file}: ${name}: ${word}, say ${refused[word] ?? ''}`);
      }
    }
  }
  expect(found).toEqual([]);
});

test('a refused word is found in names of either form', () => {
  expect(wordsOf('src/core/kept-quota.ts')).toContain('kept');
  expect([...identifiersOf('a.ts', 'const tellReach = ({ told }) => told;')].flatMap(wordsOf)).toEqual(
    expect.arrayContaining(['tell', 'reach', 'told']),
  );
});
