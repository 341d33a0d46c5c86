import { readdir, readFile } from 'node:fs/promises';
import { dirname, join, normalize } from 'node:path';
import { expect, test } from 'vitest';
import { tables } from '../src/sources/finances/lake-tables.js';

/** The layers of ARCHITECTURE.md: what each folder of `src/` imports beside itself. `pipelines` is the folder beside `src/`. */
const layers: Readonly<Record<string, readonly string[]>> = {
  core: [],
  lake: ['core'],
  engine: ['core', 'lake'],
  sources: ['core', 'lake', 'engine'],
  pipelines: ['core', 'engine', 'sources'],
  app: ['core', 'lake', 'engine', 'sources', 'pipelines', 'observe'],
  observe: ['core'],
  serve: ['core', 'lake', 'sources', 'pipelines'],
  emulator: ['core', 'sources', 'serve'],
  library: ['core', 'engine', 'sources', 'app', 'emulator'],
  cli: ['core', 'lake', 'engine', 'sources', 'pipelines', 'app', 'observe', 'serve', 'emulator'],
};

/** The files that the package's `bin` and its `exports` name. */
const entryPoints = ['src/cli.ts', 'src/index.ts'];

/** The project's own files that each source imports, type-only imports and `import()` included. */
const imports = await importsOf(['src', 'pipelines']);

async function importsOf(folders: readonly string[]): Promise<ReadonlyMap<string, readonly string[]>> {
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

function layerOf(file: string): string {
  const [top = '', layer = ''] = file.split('/');
  return top === 'src' ? layer : top;
}

/** A circle that a node of a graph is part of, or leads to. */
function circleFrom(node: string, graph: ReadonlyMap<string, Iterable<string>>, done: Set<string>): string[] {
  const path: string[] = [];
  const visit = (at: string): string[] => {
    if (path.includes(at)) return [...path.slice(path.indexOf(at)), at];
    if (done.has(at)) return [];
    path.push(at);
    for (const next of graph.get(at) ?? []) {
      const circle = visit(next);
      if (circle.length > 0) return circle;
    }
    path.pop();
    done.add(at);
    return [];
  };
  return visit(node);
}

function circles(graph: ReadonlyMap<string, Iterable<string>>): string[][] {
  const done = new Set<string>();
  return [...graph.keys()].flatMap((node) => {
    const circle = circleFrom(node, graph, done);
    for (const each of circle) done.add(each);
    return circle.length > 0 ? [circle] : [];
  });
}

test('files import each other one way, without circles', () => {
  expect(imports.size).toBeGreaterThan(100);
  expect(circles(imports)).toEqual([]);
});

/** Folders, each with the others that its files import. */
function importsOfFolders(folderOf: (file: string) => string): ReadonlyMap<string, ReadonlySet<string>> {
  const folders = new Map<string, Set<string>>();
  for (const [file, imported] of imports) {
    const folder = folderOf(file);
    const others = folders.get(folder) ?? new Set();
    folders.set(folder, others);
    for (const path of imported) if (folderOf(path) !== folder) others.add(folderOf(path));
  }
  return folders;
}

test.each([
  ['folders', dirname],
  ['folders of a layer, with those in them,', (file: string) => dirname(file).split('/').slice(0, 3).join('/')],
] as const)('%s import each other one way, without circles', (_, folderOf) => {
  expect(circles(importsOfFolders(folderOf))).toEqual([]);
});

test('every source lies in a layer, and imports no layer above its own', () => {
  const faults = [...imports].flatMap(([file, imported]) => {
    if (entryPoints.includes(file)) return [];
    const layer = layerOf(file);
    const below = layers[layer];
    if (below === undefined) return [`${file} lies in no layer`];
    return imported
      .filter((path) => layerOf(path) !== layer && !below.includes(layerOf(path)))
      .map((path) => `${file} imports ${path}`);
  });
  expect(faults).toEqual([]);
});

test('each layer imports all that it may', () => {
  const used = importsOfFolders(layerOf);
  const unused = Object.entries(layers).flatMap(([layer, below]) =>
    below
      .filter((other) => used.get(layer)?.has(other) !== true)
      .map((other) => `${layer} imports nothing of ${other}`),
  );
  expect(unused).toEqual([]);
});

test('a circle would be found', () => {
  const graph = { a: ['b'], b: ['c'], c: ['b'], d: ['a'] };
  expect(circles(new Map(Object.entries(graph)))).toEqual([['b', 'c', 'b']]);
});

test('core, lake and engine know nothing of finances', async () => {
  for (const file of imports.keys()) {
    if (!['core', 'lake', 'engine'].includes(layerOf(file))) continue;
    const identifiers = (await readFile(file, 'utf8')).replaceAll(/\/\*[^]*?\*\/|\/\/.*/g, '');
    expect([file, /FinancialEvent|ShipmentEvent|SellerSKU|MarketplaceName/.exec(identifiers)?.[0]]).toEqual([
      file,
      undefined,
    ]);
  }
});

test('no source names a pipeline but its definition', async () => {
  const definitions = [...imports.keys()].filter((file) => layerOf(file) === 'pipelines');
  const named = await Promise.all(
    definitions.map(async (file) => /^(?:const name =| {2}name:) '([^']+)'/m.exec(await textOf(file))?.[1] ?? []),
  );
  const names = named.flat();
  expect(names.length).toBeGreaterThan(7);
  const tableNames = new Set(tables.map(({ name }) => name));
  for (const [file, imported] of imports) {
    if (layerOf(file) === 'pipelines') continue;
    const text = await textOf(file);
    const isOfTable = (name: string) => tableNames.has(name) && (layerOf(file) !== 'app' || namesOthers.has(file));
    const found = names.filter((name) => text.includes(`'${name}'`) && !isOfTable(name));
    expect([file, found, imported.filter((path) => definitions.includes(path) && path !== registry)]).toEqual([
      file,
      [],
      [],
    ]);
  }
});

/** Commands ask it for a pipeline by its role, its name or its table. */
const registry = 'pipelines/all-pipelines.ts';

/** Sources of commands that name something else which has the name of a pipeline. */
const namesOthers = new Set([
  // The list that transactions stand in, which their table has no column for.
  ...['src/app/reconcile/event-history.ts', 'src/app/verify/common/event-rules.ts'],
  // Tables that statements read.
  ...['src/app/query/query-notes.ts', 'src/app/report/reconciliation-section.ts'],
  // A question.
  'src/app/query/question-names.ts',
]);

/** Names that two files declare. */
const declaredTwice = [
  // The lake that programs read, as an interface of the library; the class reads and writes.
  'Lake',
  // A function of the library has the name of its command, and so has the one of the command line.
  ...['backfill', 'backup', 'changes', 'doctor', 'exportJournal', 'exportSettlementReports', 'exportViews'],
  ...['restore', 'sync'],
];

test('a type, and whatever else is exported, has a name that no other file declares', async () => {
  const declaration = /^(?:export (?:async )?(?:interface|type|class|function\*?|const)|interface|type|class) (\w+)/gm;
  const filesOf = new Map<string, Set<string>>();
  for (const file of imports.keys()) {
    for (const [, name = ''] of (await textOf(file)).matchAll(declaration)) {
      filesOf.set(name, (filesOf.get(name) ?? new Set()).add(file));
    }
  }
  expect(filesOf.size).toBeGreaterThan(1000);
  const twice = [...filesOf].filter(([, files]) => files.size > 1);
  expect(twice.filter(([name]) => !declaredTwice.includes(name)).map(([name, files]) => [name, ...files])).toEqual([]);
  expect(declaredTwice.filter((name) => filesOf.get(name)?.size !== 2)).toEqual([]);
});

function textOf(file: string): Promise<string> {
  return readFile(file, 'utf8');
}

/** What a source loads with itself: its `import` statements that are not of types, and theirs. */
async function loadedWith(file: string, loaded = new Set<string>()): Promise<Set<string>> {
  if (loaded.has(file)) return loaded;
  loaded.add(file);
  if (!imports.has(file)) return loaded;
  const statement = /^(?:import|export) (?!type )(?:[\w\s{},*]+ from )?'([^']+)'/gm;
  for (const [, path = ''] of (await textOf(file)).matchAll(statement)) {
    await loadedWith(path.startsWith('.') ? normalize(join(dirname(file), path.replace(/js$/, 'ts'))) : path, loaded);
  }
  return loaded;
}

test.each([
  ['every command loads', 'src/cli/command-line.ts', ['yargs'], /^src\/core\/(?:columns|json)\//],
  ['who knows the pipelines loads', 'pipelines/all-pipelines.ts', ['zod'], /^src\/engine\/http\/transport/],
])('%s no source and no package that it can do without', async (_, file, packages, unused) => {
  const loaded = [...(await loadedWith(file))];
  expect(loaded.length).toBeGreaterThan(30);
  expect(loaded.filter((path) => !imports.has(path) && !path.startsWith('node:')).toSorted()).toEqual(packages);
  expect(loaded.filter((path) => unused.test(path))).toEqual([]);
});
