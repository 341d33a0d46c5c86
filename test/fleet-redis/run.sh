#!/bin/sh
# Runs a fleet of real worker processes against a real Redis: Debian's redis-server, on loopback, gone again afterwards.
# LEDGERLAKE_TEST_REDIS names another server that is there, such as valkey-server.
# Prints that it is skipped and exits 0 where there is none and it can't be installed.
set -eu
cd "$(dirname "$0")/../.."

skip() {
  echo "test-fleet: skipped: $1"
  exit 0
}

server="${LEDGERLAKE_TEST_REDIS:-redis-server}"
if ! command -v "$server" >/dev/null; then
  [ "$server" = redis-server ] || skip "$server is missing"
  [ "$(id -u)" = 0 ] || skip "redis-server is missing and installing it needs root"
  command -v apt-get >/dev/null || skip "redis-server is missing and there is no apt-get"
  echo "test-fleet: installing redis-server"
  { apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends redis-server; } \
    >/dev/null 2>&1 || skip "the package redis-server can't be installed"
  command -v redis-server >/dev/null || skip "the package is installed but redis-server is not on PATH"
fi

echo "test-fleet: $("$server" --version | cut -d' ' -f1-3)"
exec npx vitest run --config test/fleet-redis/vitest.config.ts "$@"
