#!/bin/sh
# Reads lakes with ClickHouse's own reader: chdb, which is ClickHouse as a library, in processes of its own; and Iceberg
# with DuckDB's, where it can be had.
#
#   test/readers/run.sh               the tests in test/readers
#   test/readers/run.sh ARGUMENT...   the same, with arguments for vitest
#
# chdb takes about 550 MB and is installed by this script alone, below test/readers. Prints that it is skipped and
# exits 0 where it can't be.
set -eu
cd "$(dirname "$0")/../.."

skip() {
  echo "test-readers: skipped: $1"
  exit 0
}

# Answers one query: the package is there, and so is the library for this machine.
works() {
  [ "$(echo '["SELECT 6 * 7"]' | node test/readers/clickhouse/query.mjs 2>/dev/null)" = '[{"text":"42\n"}]' ]
}

if ! works; then
  echo 'test-readers: installing chdb'
  # Not `npm ci`: it wants every system's library in the lock file, and some registries have only one.
  (cd test/readers/clickhouse && npm install --no-save --no-audit --no-fund --ignore-scripts) >/dev/null 2>&1 ||
    skip 'the package chdb cannot be installed'
  works || skip 'the package chdb is installed but does not run on this machine'
fi
# DuckDB's reader of Iceberg: its test is skipped where the extensions cannot be downloaded.
node --input-type=module -e "
import { DuckDBInstance } from '@duckdb/node-api';
setTimeout(() => process.exit(), 120_000);
const duckdb = await (await DuckDBInstance.create()).connect();
for (const extension of ['avro', 'iceberg']) await duckdb.run('INSTALL ' + extension);
process.exit();
" 2>/dev/null || echo "test-readers: DuckDB's extension iceberg cannot be installed: its test is skipped"
exec npx vitest run --config test/readers/vitest.config.ts "$@"
