import { readdir } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Table } from '../../core/columns/table.js';
import { openFault } from '../../core/io/files.js';
import { faultLine } from '../../core/text/fault-line.js';
import { messageOf, usageError, LedgerlakeError } from '../../core/errors.js';
import { definitionError } from '../records/definition-error.js';
import type { PipelineDefinition } from './definition.js';
import { customTables } from './custom-table.js';

/** A checked definition. */
export interface LoadedDefinition {
  /** Its file, in the folder as given by the user. */
  readonly file: string;
  readonly definition: PipelineDefinition;
  readonly table: Table;
  /** The table of its records' lines. */
  readonly lines?: Table;
}

/** Names that definitions can't use: those of the built-in pipelines and tables. */
interface ReservedNames {
  readonly pipelines: readonly string[];
  readonly tables: readonly string[];
}

/** Maximum of faults in an error message. */
const mostFaults = 3;
const extensions = /\.(?:js|mjs|ts|mts)$/;

/**
 * Loads every definition of a folder, in the order of file names. This runs code of the user.
 *
 * @throws LedgerlakeError USAGE with the file and the invalid field
 */
export async function loadDefinitions(folder: string, reserved: ReservedNames): Promise<readonly LoadedDefinition[]> {
  const files = await namesIn(folder);
  refuseProgramsFolder(folder, files);
  const names = files.filter((name) => extensions.test(name) && !/\.d\.m?ts$/.test(name));
  if (names.length === 0) {
    throw usageError(`expected definitions of pipelines (.js, .mjs, .ts or .mts) in ${folder}, got none`);
  }
  const loaded: LoadedDefinition[] = [];
  for (const name of names.toSorted()) {
    const one = await loadDefinition(join(folder, name));
    refuseUsedNames(one, reserved, loaded);
    loaded.push(one);
  }
  return loaded;
}

/** Throws a USAGE error for the folder of the built-in pipelines, which a checkout has. `files`: its file names. */
export function refuseProgramsFolder(folder: string, files: readonly string[]): void {
  if (!files.some((name) => /^all-pipelines\.[jt]s$/.test(name))) return;
  throw usageError(
    `expected a folder of your own for --pipelines, got ${folder}, which contains the program's pipelines; name another, such as ` +
      '--pipelines my-pipelines',
  );
}

async function namesIn(folder: string): Promise<string[]> {
  try {
    return await readdir(folder);
  } catch (error) {
    throw usageError(
      `expected a folder of custom pipelines, got ${folder} (${openFault(error)}); check --pipelines, LEDGERLAKE_PIPELINES or the configuration`,
    );
  }
}

async function loadDefinition(file: string): Promise<LoadedDefinition> {
  if (/\.m?ts$/.test(file) && !runsTypeScript()) {
    throw usageError(
      `${file}: expected Node 22.18 or later for a definition in TypeScript, got ${process.versions.node}; use a ` +
        `newer Node, or compile it (npx --yes -p typescript@5 tsc --module preserve --target es2023 --outDir built ${file}) and ` +
        'name the output folder: --pipelines built',
    );
  }
  const { definitionSchema } = await import('./definition-schema.js');
  const value = await defaultExport(file);
  const parsed = definitionSchema.safeParse(value);
  if (!parsed.success) {
    const faults = parsed.error.issues.map((issue) => faultLine(issue, value));
    const more = faults.length > mostFaults ? `; and ${faults.length - mostFaults} more` : '';
    throw usageError(`${file}: ${faults.slice(0, mostFaults).join('; ')}${more}`);
  }
  // The schema has checked everything except the parameters and results of functions.
  const definition = value as PipelineDefinition;
  return { file, definition, ...customTables(definition) };
}

async function defaultExport(file: string): Promise<unknown> {
  let module: object;
  const restoreWarning = silenceModuleType();
  try {
    module = (await import(pathToFileURL(resolve(file)).href)) as object;
  } catch (error) {
    const isCommonJs = error instanceof SyntaxError && /\.[jt]s$/.test(file) && /export|import/.test(error.message);
    const hint = isCommonJs
      ? `; name it ${file.replace(/\.([jt]s)$/, '.m$1')}, as its package.json says that .${file.slice(-2)} is no module`
      : error instanceof SyntaxError
        ? `; \`node ${file}\` shows the line`
        : '';
    throw usageError(`${file}: expected a module that loads, got the error ${JSON.stringify(messageOf(error))}${hint}`);
  } finally {
    restoreWarning();
  }
  if ('default' in module) return module.default;
  throw usageError(`${file}: expected the definition as the default export (export default {…}), got none`);
}

/** Suppresses Node's warning about a `.js` or `.ts` file without a module type. Returns a function that restores it. */
function silenceModuleType(): () => void {
  const emitWarning = process.emitWarning.bind(process);
  process.emitWarning = (warning: string | Error, ...rest: unknown[]) => {
    const [options] = rest;
    const code = typeof options === 'object' && options !== null && 'code' in options ? options.code : undefined;
    if (code !== 'MODULE_TYPELESS_PACKAGE_JSON') Reflect.apply(emitWarning, process, [warning, ...rest]);
  };
  return () => {
    process.emitWarning = emitWarning;
  };
}

function runsTypeScript(): boolean {
  return 'typescript' in process.features && process.features.typescript !== false;
}

function refuseUsedNames(
  { file, definition: { name, table, lines } }: LoadedDefinition,
  reserved: ReservedNames,
  others: readonly LoadedDefinition[],
): void {
  const refuse = (field: string, other: string, got: string) =>
    usageError(`${file}: ${field}: expected a name other than ${other}, got ${JSON.stringify(got)}`);
  if (reserved.pipelines.includes(name)) throw refuse('name', "the names of this program's pipelines", name);
  const names = new Map([['table.name', table.name]]);
  if (lines?.table.name === table.name) throw refuse('lines.table.name', 'the name of the table', table.name);
  if (lines !== undefined) names.set('lines.table.name', lines.table.name);
  for (const [field, tableName] of names) {
    if (reserved.tables.includes(tableName)) throw refuse(field, "the names of this program's tables", tableName);
  }
  for (const { file: otherFile, definition } of others) {
    if (definition.name === name) throw refuse('name', `in ${otherFile}`, name);
    const otherTables = [definition.table.name, definition.lines?.table.name];
    for (const [field, tableName] of names)
      if (otherTables.includes(tableName)) throw refuse(field, `in ${otherFile}`, tableName);
  }
}

/**
 * Calls a function of a definition.
 *
 * @param file the definition's, for messages
 * @throws LedgerlakeError DEFINITION where it throws another error; a LedgerlakeError, such as for an unexpected answer, passes
 * through
 */
export function callDefinition<T>(file: string, name: string, call: () => T): T {
  try {
    return call();
  } catch (error) {
    if (error instanceof LedgerlakeError) throw error;
    throw definitionError(file, name, `it threw ${JSON.stringify(messageOf(error))}`, error);
  }
}
