#!/bin/sh
# Runs the browser tests in Debian's Chromium, without a window.
#
#   test/browser/run.sh               the tests in test/browser
#   test/browser/run.sh ARGUMENT...   the same, with arguments for vitest
#
# CHROMIUM names another browser's program. Prints that it is skipped and exits 0 where there is none and none can be
# installed.
set -eu
cd "$(dirname "$0")/../.."

skip() {
  echo "test-browser: skipped: $1"
  exit 0
}

if [ -z "${CHROMIUM:-}" ] && ! command -v chromium >/dev/null; then
  [ "$(id -u)" = 0 ] || skip 'Chromium is missing and installing it needs root'
  command -v apt-get >/dev/null || skip 'Chromium is missing and there is no apt-get'
  echo 'test-browser: installing Chromium'
  { apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends chromium; } \
    >/dev/null 2>&1 || skip 'the package chromium cannot be installed'
  command -v chromium >/dev/null || skip 'the package chromium is installed but its program is not on PATH'
fi
CHROMIUM=${CHROMIUM:-$(command -v chromium)}
export CHROMIUM
exec npx vitest run --config test/browser/vitest.config.ts "$@"
