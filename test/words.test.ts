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

/** Where names may have a word that means something else in other places. The words are in ARCHITECTURE.md. */
const places: Readonly<Record<string, RegExp>> = {
  backend: /^src\/(?:serve|emulator|cli)\//,
  ledger: /^src\/app\/journal\//,
  service: /^src\/(?!serve\/|cli\/serve\/)/,
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

test('names have a word where it has its one meaning', async () => {
  const misplaced: string[] = [];
  for (const file of await sourceFiles()) {
    for (const name of [file, ...identifiersOf(file, await readFile(file, 'utf8'))]) {
      for (const word of wordsOf(name)) {
        if (Object.hasOwn(places, word) && places[word]?.test(file) === false) misplaced.push(`${file}: ${name}`);
      }
    }
  }
  expect(misplaced).toEqual([]);
});

test('a refused word is found in names of either form', () => {
  expect(wordsOf('src/core/kept-quota.ts')).toContain('kept');
  expect([...identifiersOf('a.ts', 'const tellReach = ({ told }) => told;')].flatMap(wordsOf)).toEqual(
    expect.arrayContaining(['tell', 'reach', 'told']),
  );
});

/** The beginning and the end of a message, where the code says them. */
function endsOf(message: ts.Node | undefined): [string, string] {
  if (message === undefined) return ['', ''];
  if (ts.isStringLiteralLike(message)) return [message.text, message.text];
  if (ts.isTemplateExpression(message)) return [message.head.text, message.templateSpans.at(-1)?.literal.text ?? ''];
  if (ts.isBinaryExpression(message)) return [endsOf(message.left)[0], endsOf(message.right)[1]];
  return ['', ''];
}

/** Messages of the errors that users meet: of `usageError` and `LedgerlakeError`. */
function messagesOf(path: string, source: string): [string, string][] {
  const messages: [string, string][] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isCallExpression(node) && node.expression.getText() === 'usageError')
      messages.push(endsOf(node.arguments[0]));
    if (ts.isNewExpression(node) && node.expression.getText() === 'LedgerlakeError')
      messages.push(endsOf(node.arguments?.[1]));
    ts.forEachChild(node, visit);
  };
  visit(ts.createSourceFile(path, source, ts.ScriptTarget.Latest, true));
  return messages;
}

test('errors begin with a small letter and end without a full stop', async () => {
  const messages: [string, string, string][] = [];
  for (const file of await sourceFiles()) {
    for (const [start, end] of messagesOf(file, await readFile(file, 'utf8'))) messages.push([file, start, end]);
  }
  expect(messages.length).toBeGreaterThan(150);
  // A name such as DuckDB stays as it is.
  expect(messages.filter(([, start, end]) => /^[A-Z][a-z]+\b/.test(start) || end.endsWith('.'))).toEqual([]);
});
