import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { defineConfig } from 'rolldown';
import { viteImportGlobPlugin } from 'rolldown/experimental';

/** What `npm run modules` puts into `dist/modules`: each file by itself, so that a benchmark measures single modules. */
const files = ['src', 'pipelines', 'bench'].flatMap((folder) =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => /(?<!\.d|\.config)\.ts$/.test(name))
    .map((name) => join(folder, name)),
);

export default defineConfig({
  input: Object.fromEntries(files.map((file) => [file.replace(/\.ts$/, ''), file])),
  platform: 'node',
  tsconfig: 'tsconfig.json',
  resolve: { extensionAlias: { '.js': ['.ts', '.js'] } },
  moduleTypes: { '.sql': 'text', '.md': 'text' },
  external: /^[@\w]/,
  plugins: [viteImportGlobPlugin()],
  treeshake: false,
  output: { dir: 'dist/modules', format: 'esm', cleanDir: true, preserveModules: true, preserveModulesRoot: '.' },
});
