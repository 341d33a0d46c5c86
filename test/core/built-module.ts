import { createHash } from 'node:crypto';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { build } from 'rolldown';

/** Compiles a module of `src` for a process that a test starts, as that runs JavaScript alone. Returns its address. */
export async function builtModule(path: string): Promise<string> {
  const name = createHash('sha256').update(path).digest('hex').slice(0, 16);
  const dir = `dist/test/${name}`;
  await build({
    input: { module: path },
    platform: 'node',
    resolve: { extensionAlias: { '.js': ['.ts', '.js'] } },
    moduleTypes: { '.sql': 'text' },
    external: /^[@\w]/,
    output: { dir, entryFileNames: '[name].js' },
    logLevel: 'warn',
  });
  return pathToFileURL(resolve(dir, 'module.js')).href;
}
