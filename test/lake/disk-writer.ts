import { type ChildProcess, spawn } from 'node:child_process';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import ts from 'typescript';

const source = join(import.meta.dirname, '../../src');

/** Compiles the store on disk and all that it imports into a folder, so that a process of its own can run it; the way of its module. */
export async function compileDiskStore(folder: string): Promise<string> {
  const module = 'lake/store/disk';
  const compiled = new Set([module]);
  for (const name of compiled) {
    const text = await readFile(join(source, `${name}.ts`), 'utf8');
    const target = join(folder, `${name}.js`);
    await mkdir(dirname(target), { recursive: true });
    const compilerOptions = {
      module: ts.ModuleKind.ESNext,
      target: ts.ScriptTarget.ES2023,
      verbatimModuleSyntax: true,
    };
    await writeFile(target, ts.transpileModule(text, { compilerOptions }).outputText);
    for (const [, path = ''] of text.matchAll(/from '(\.[^']*)\.js'/g)) compiled.add(join(dirname(name), path));
  }
  await writeFile(join(folder, 'package.json'), '{"type":"module"}');
  return join(folder, `${module}.js`);
}

/** Runs a script that has `store`, over the lake, and `say`, which prints a line. */
export function runOnLake(module: string, lake: string, script: string): ChildProcess {
  const text = `
    import { diskStore } from ${JSON.stringify(module)};
    const store = diskStore(${JSON.stringify(lake)});
    const say = (line) => process.stdout.write(line + '\\n');
    ${script}`;
  return spawn(process.execPath, ['--input-type=module', '--eval', text], { stdio: ['ignore', 'pipe', 'inherit'] });
}

/** All that a process prints until it ends. */
export async function outputOf(child: ChildProcess): Promise<string> {
  const ended = new Promise((resolve) => child.once('close', resolve));
  let text = '';
  child.stdout?.on('data', (chunk: Buffer) => (text += chunk.toString()));
  await ended;
  return text;
}

/** Resolves once a process has printed something. */
export async function firstOutput(child: ChildProcess): Promise<void> {
  await new Promise((resolve) => child.stdout?.once('data', resolve));
}
