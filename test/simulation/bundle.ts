import { readFile } from 'node:fs/promises';
import { rolldown } from 'rolldown';
import { viteImportGlobPlugin } from 'rolldown/experimental';

/** A deliberate fault: a text in a source file, and what replaces it. */
export interface Replacement {
  /** Within the repository. */
  readonly file: string;
  readonly text: string;
  readonly by: string;
}

const root = `${process.cwd()}/`;
const here = `${root}test/simulation/`;

/** What replaces modules of Node and of the program, for the program alone. */
const substitutes: Readonly<Record<string, string>> = {
  'node:fs/promises': 'local-files.ts',
  'node:fs': 'local-files.ts',
  'node:crypto': 'machine-identity.ts',
  'node:os': 'machine-identity.ts',
  'node:timers/promises': 'turns.ts',
  [`${root}src/lake/store/writer-name.ts`]: 'machine-identity.ts',
  [`${root}src/engine/http/transport.ts`]: 'transport.ts',
  [`${root}src/core/duckdb/connection.ts`]: 'databases.ts',
};

/** Modules of the program that keep Node's own. */
const untouched = [
  'src/core/clock.ts',
  'src/core/parquet/wasm-module.ts',
  'src/core/duckdb/connection.ts',
  'src/core/machine.ts',
];

/**
 * Compiles the simulation and the program into one module that plain Node runs: there a loaded module takes no time.
 *
 * @param replacements deliberate faults
 * @returns the module's path
 * @throws Error where a text to replace isn't in its file exactly once
 */
export async function bundled(name: string, replacements: readonly Replacement[] = []): Promise<string> {
  const file = `${root}dist/simulation/${name}.mjs`;
  const replaced = new Set<string>();
  const bundle = await rolldown({
    input: `${here}main.ts`,
    platform: 'node',
    moduleTypes: { '.sql': 'text' },
    logLevel: 'silent',
    plugins: [
      viteImportGlobPlugin(),
      {
        name: 'substitutes',
        async resolveId(source, importer) {
          const isPackage = !source.startsWith('.') && !source.startsWith('/');
          const usual = isPackage ? { id: source, external: true } : null;
          const isProgram =
            importer?.startsWith(`${root}src/`) === true || importer?.startsWith(`${root}pipelines/`) === true;
          if (!isProgram || untouched.some((one) => importer === root + one)) return usual;
          const resolved = isPackage ? source : (await this.resolve(source, importer, { skipSelf: true }))?.id;
          const substitute = substitutes[resolved ?? ''];
          return substitute === undefined ? usual : `${here}substitutes/${substitute}`;
        },
        async load(id) {
          const chosen = replacements.filter((one) => id === root + one.file);
          if (chosen.length === 0) return null;
          let code = await readFile(id, 'utf8');
          for (const { text, by } of chosen) {
            if (code.split(text).length !== 2) throw new Error(`expected ${JSON.stringify(text)} once in ${id}`);
            code = code.replace(text, () => by);
            replaced.add(text);
          }
          return { code, moduleType: 'ts' };
        },
      },
    ],
  });
  await bundle.write({ file, format: 'esm', codeSplitting: false });
  await bundle.close();
  if (replaced.size !== replacements.length) throw new Error(`${name}: a file to change isn't part of the program`);
  return file;
}
