#!/bin/sh
# Reads lakes and files with readers of others: ClickHouse's, which is chdb, ClickHouse as a library, in processes of its
# own; hyparquet and parquet-wasm; and Iceberg with icebird and DuckDB's, where they can be had.
#
#   test/readers/run.sh               the tests in test/readers
#   test/readers/run.sh ARGUMENT...   the same, with arguments for vitest
#
# chdb, which takes about 550 MB, and icebird are installed by this script alone, below test/readers. Prints what is
# skipped where one can't be.
set -eu
cd "$(dirname "$0")/../.."

# Answers one query: the package is there, and so is the library for this machine.
works() {
  [ "$(echo '["SELECT 6 * 7"]' | node test/readers/clickhouse/query.mjs 2>/dev/null)" = '[{"text":"42\n"}]' ]
}

clickhouse() {
  works && return
  echo 'test-readers: installing chdb'
  # Not `npm ci`: it wants every system's library in the lock file, and some registries have only one.
  (cd test/readers/clickhouse && npm install --no-save --no-audit --no-fund --ignore-scripts) >/dev/null 2>&1
  works
}

icebird() {
  [ -d test/readers/icebird/node_modules/icebird ] ||
    (cd test/readers/icebird && npm ci --no-audit --no-fund --ignore-scripts) >/dev/null 2>&1
}

if ! clickhouse; then
  echo 'test-readers: chdb cannot be installed or does not run on this machine: what ClickHouse reads is skipped'
  set -- --exclude 'test/readers/{clickhouse,iceberg,snapshots,while-written}.test.ts' "$@"
fi
icebird || echo 'test-readers: icebird cannot be installed: its test is skipped'
# DuckDB's reader of Iceberg: its test is skipped where the extensions cannot be downloaded.
node --input-type=module -e "
import { DuckDBInstance } from '@duckdb/node-api';
setTimeout(() => process.exit(), 120_000);
const duckdb = await (await DuckDBInstance.create()).connect();
for (const extension of ['avro', 'iceberg']) await duckdb.run('INSTALL ' + extension);
process.exit();
" 2>/dev/null || echo "test-readers: DuckDB's extension iceberg cannot be installed: its test is skipped"
exec npx vitest run --config test/readers/vitest.config.ts "$@"
