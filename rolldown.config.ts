import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { defineConfig, type Plugin } from 'rolldown';
import { viteImportGlobPlugin } from 'rolldown/experimental';
import { parseSync, Visitor } from 'rolldown/utils';

/**
 * What `npm run build` puts into `dist/src`: the command line, the library and the threads' scripts, with few files to open at
 * each start. The small packages that every command uses are in them; those with WebAssembly, binaries or threads are not.
 */
const inlined = /^(?:yargs|zod|p-queue|@duckdb\/node-api)(?:\/|$)/;

/** What is loaded at the start of every command, and at that of a thread or of a program with the library. */
const ofCommands = new Set<string>();
const ofOthers = new Set<string>();

/** Whether every command loads a module. Those of the command line alone are in one file anyway. */
const isShared = (id: string): boolean => ofCommands.has(id) && !/\/(?:src\/cli|node_modules)\//.test(id);

export default defineConfig({
  input: {
    cli: 'src/cli.ts',
    'command-line': 'src/cli/command-line.ts',
    index: 'src/index.ts',
    'chunk-thread-main': 'src/app/import/chunks/chunk-thread-main.ts',
    'rederiving-thread-main': 'src/app/maintenance/rederiving-thread-main.ts',
  },
  platform: 'node',
  tsconfig: 'tsconfig.json',
  resolve: { extensionAlias: { '.js': ['.ts', '.js'] } },
  moduleTypes: { '.sql': 'text', '.md': 'text' },
  // Packages of the inlined ones are inlined as well: their importers lie below node_modules.
  external: (id, importer) =>
    /^[@\w]/.test(id) && !inlined.test(id) && (!importer?.includes('node_modules') || id.startsWith('@')),
  plugins: [viteImportGlobPlugin(), start(), licenses(), statementLines()],
  output: {
    dir: 'dist/src',
    format: 'esm',
    cleanDir: true,
    entryFileNames: '[name].js',
    chunkFileNames: '[name]-[hash].js',
    // Two files in place of sixty, each of which takes half a millisecond to open.
    codeSplitting: {
      groups: [
        { name: 'basics', test: (id) => isShared(id) && ofOthers.has(id), priority: 1 },
        { name: 'settings', test: isShared },
      ],
    },
    // Names of functions and classes stay: they are in stack traces.
    minify: { compress: true, mangle: { keepNames: true }, codegen: { removeWhitespace: true } },
  },
});

/** Finds what is loaded at a start. */
function start(): Plugin {
  return {
    name: 'start',
    buildEnd() {
      const add = (id: string, loaded: Set<string>): void => {
        if (loaded.has(id)) return;
        loaded.add(id);
        for (const imported of this.getModuleInfo(id)?.importedIds ?? []) add(imported, loaded);
      };
      for (const id of this.getModuleIds()) {
        if (id.endsWith('/src/cli/command-line.ts')) add(id, ofCommands);
        if (id.endsWith('-thread-main.ts') || id.endsWith('/src/index.ts')) add(id, ofOthers);
      }
    },
  };
}

/** Begins a line at each statement: of an uncaught error Node prints the whole line that made it. */
function statementLines(): Plugin {
  return {
    name: 'statement-lines',
    generateBundle(_, bundle) {
      for (const file of Object.values(bundle)) if (file.type === 'chunk') file.code = withStatementLines(file.code);
    },
  };
}

function withStatementLines(code: string): string {
  const starts = new Set<number>([0]);
  const add = ({ body }: { readonly body: readonly { readonly start: number }[] }): void => {
    for (const { start } of body) starts.add(start);
  };
  new Visitor({ Program: add, BlockStatement: add, ClassBody: add }).visit(parseSync('chunk.js', code).program);
  const sorted = [...starts].toSorted((a, b) => a - b);
  return sorted.map((start, at) => code.slice(start, sorted[at + 1])).join('\n');
}

/** Adds the licences of the packages that are in the files, which ask for that. */
function licenses(): Plugin {
  return {
    name: 'licenses',
    generateBundle(_, bundle) {
      const modules = Object.values(bundle).flatMap((file) => (file.type === 'chunk' ? file.moduleIds : []));
      const packages = new Set(modules.flatMap((id) => /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/.exec(id) ?? []));
      const texts = [...packages].toSorted().map((folder) => {
        const license = readdirSync(folder).find((name) => /^licen[cs]e/i.test(name));
        if (license === undefined) throw new Error(`expected a licence in ${folder}`);
        return `${folder.replace(/^.*\/node_modules\//, '')}\n\n${readFileSync(join(folder, license), 'utf8').trim()}\n`;
      });
      this.emitFile({ type: 'asset', fileName: 'LICENSES.txt', source: texts.join('\n---\n\n') });
    },
  };
}
