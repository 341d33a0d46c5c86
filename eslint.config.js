import tseslint from 'typescript-eslint';

/** Heavy packages and the one file that may import each. */
const importers = {
  'parquet-wasm': 'src/core/parquet/wasm.ts',
  'parquet-wasm/esm': 'src/core/parquet/wasm.ts',
  'p-queue': 'src/engine/rate-limit/request-queue.ts',
  '@aws-sdk/client-s3': 'src/lake/store/s3-bucket.ts',
  yargs: 'src/cli/command-line.ts',
  '@duckdb/node-api': 'src/core/duckdb/connection.ts',
  '@duckdb/node-api/lib/vectors/dataAccessors.js': 'src/core/duckdb/texts.ts',
  undici: 'src/core/connections/connector.ts',
  pino: 'src/observe/log/json-log.ts',
  'prom-client': 'src/observe/metrics/run-metrics.ts',
  '@observablehq/plot': 'src/app/report/charts.ts',
  '@mixmark-io/domino': 'src/app/report/charts.ts',
  'jsonc-parser': 'src/app/configuration/commented-json.ts',
  bullmq: 'src/app/fleet/turn-queue.ts',
  ioredis: 'src/app/fleet/redis.ts',
  '@modelcontextprotocol/sdk/server/mcp.js': 'src/app/mcp/server.ts',
  '@modelcontextprotocol/sdk/server/stdio.js': 'src/app/mcp/server.ts',
  '@modelcontextprotocol/sdk/types.js': 'src/app/mcp/server.ts',
};
/** What opens files. So everything that is written goes through functions that follow no link and wait for no FIFO. */
const openers = ['open', 'writeFile', 'appendFile', 'copyFile', 'cp'].flatMap((name) => [name, `${name}Sync`]);
const openingFiles = ['src/core/io/files.ts', 'src/core/io/write-file.ts', 'src/core/parquet/wasm-module.ts'];
const names = Object.keys(importers);
const restricted = (allowed, opensFiles = false) => [
  'error',
  {
    paths: names
      .filter((name) => !allowed.includes(name))
      .map((name) => ({ name, message: `Only ${importers[name]} imports ${name}.` }))
      .concat(
        ['node:fs', 'node:fs/promises']
          .filter(() => !opensFiles)
          .map((name) => ({
            name,
            importNames: [...openers, 'createWriteStream'],
            message: `Only ${openingFiles.join(', ')} open files.`,
          })),
      ),
  },
];

const restrictedSyntax = [
  { selector: 'TSEnumDeclaration', message: 'A union of strings instead.' },
  { selector: 'ObjectExpression > SpreadElement > ObjectExpression', message: 'Members without a spread.' },
];

export default tseslint.config(
  { ignores: ['dist/', 'coverage/', 'data/'] },
  {
    files: ['**/*.ts'],
    extends: [tseslint.configs.strictTypeChecked, tseslint.configs.stylisticTypeChecked],
    languageOptions: { parserOptions: { project: true } },
    rules: {
      '@typescript-eslint/consistent-type-imports': 'error',
      '@typescript-eslint/switch-exhaustiveness-check': 'error',
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true }],
      'no-restricted-syntax': ['error', ...restrictedSyntax],
    },
  },
  {
    files: ['src/**/*.ts', 'pipelines/**/*.ts'],
    rules: {
      'no-restricted-imports': restricted([]),
      'no-restricted-syntax': [
        'error',
        ...restrictedSyntax,
        { selector: 'VariableDeclaration[kind=/using$/]', message: 'The oldest supported Node has no `using`.' },
      ],
    },
  },
  {
    files: ['src/**/*.ts', 'pipelines/**/*.ts'],
    // The system clock, and what compares with times of the file system or of the queue in Redis.
    ignores: ['src/core/clock.ts', 'src/lake/files/file-cache.ts', 'src/app/fleet/turn-queue.ts'],
    rules: {
      'no-restricted-properties': ['error', { object: 'Date', property: 'now', message: 'A clock is an argument.' }],
    },
  },
  { files: openingFiles, rules: { 'no-restricted-imports': restricted([], true) } },
  ...[...new Set(Object.values(importers))].map((file) => ({
    files: [file],
    rules: { 'no-restricted-imports': restricted(names.filter((name) => importers[name] === file)) },
  })),
);
