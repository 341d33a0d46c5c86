#!/usr/bin/env bash
# Packs the package, installs it in an empty folder, and uses it there as its users do.
#
#   test/installed/run.sh            packs what is built
#   test/installed/run.sh TARBALL    installs this one
set -euo pipefail
cd "$(dirname "$0")/../.."
root=$PWD
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

tarball=${1:-}
if [ -z "$tarball" ]; then
  # npm prepares the package before the first `npx ledgerlake` in the checkout: what make has compiled is not compiled again.
  touch "$folder/now"
  npm run --silent prepare
  test -z "$(find dist/.built -newer "$folder/now")"
  npm pack --silent --ignore-scripts --pack-destination "$folder" >/dev/null
  tarball=$(echo "$folder"/ledgerlake-*.tgz)
fi
mkdir "$folder/shop"
cd "$folder/shop"
npm init --yes >/dev/null
start=$SECONDS
npm install --prefer-offline --no-audit --no-fund --silent "$tarball"
echo "  by tarball: $((SECONDS - start)) s, $(grep -c "^    \"node_modules/" package-lock.json) packages, $(du -sm node_modules | cut -f1) MB," \
  "on Node $(node --version)"

from=$(node -p 'new Date(Date.now() - 4 * 86400000).toISOString().slice(0, 10)')
npx --no-install ledgerlake --help | grep -q 'ledgerlake backfill'
npx --no-install ledgerlake --version | grep -q '^[0-9]*\.[0-9]*\.[0-9]*$'
npx --no-install ledgerlake backfill financial-events --lake lake --from "$from" --json 2>/dev/null |
  tail -n 1 | grep -q '"status":"done"'
rows=$(npx --no-install ledgerlake sql --lake lake --format csv 'SELECT count(*) > 0 AS n FROM entries' | tail -n 1)
test "$rows" = true
npx --no-install ledgerlake verify --lake lake | grep -q WHOLE
npx --no-install ledgerlake report --lake lake --output report.html >/dev/null
grep -q '</html>' report.html

# The library: its functions are there, an example runs, and all examples agree with the types that are packed.
cat >library.mjs <<'END'
import { backfill, createFinancesClient, openLake, sync } from 'ledgerlake';
for (const each of [backfill, createFinancesClient, openLake, sync]) if (typeof each !== 'function') throw new Error('no library');
END
node library.mjs
cp node_modules/ledgerlake/examples/*.mjs .
node query-month.mjs "${from:0:7}" lake | grep -q 'demo: [0-9]* s behind'
cat >typed.mts <<'END'
import { backfill, createFinancesClient, LedgerlakeError, openLake, RunError, type RunEvent } from 'ledgerlake';

export async function load(signal: AbortSignal): Promise<string> {
  const onEvent = (event: RunEvent): string | undefined => (event.event === 'slice-committed' ? event.slice : undefined);
  try {
    const { pipelines } = await backfill({ lake: 'lake', from: new Date(0), signal, onEvent, export: ['iceberg'] });
    return String(pipelines['financial-events']?.events.toFixed(0));
  } catch (error) {
    if (!(error instanceof LedgerlakeError)) throw error;
    const code: string = error instanceof RunError ? error.summary.status : error.code;
    return `${code} ${error.exitCode.toFixed(0)}`;
  }
}
// @ts-expect-error: the option is called lookBack.
export const mistyped = () => backfill({ lake: 'lake', lookback: 3 });
// @ts-expect-error: it is no date.
export const wrong = () => backfill({ from: 3 });
export const rows = async () => (await openLake('lake')).sql('SELECT 1 AS one');
export const client = () => createFinancesClient({ account: 'shop' });
END
# With libraries checked, as a program has them that does not skip that.
for module in node16 nodenext 'preserve --moduleResolution bundler'; do
  # shellcheck disable=SC2086
  "$root/node_modules/.bin/tsc" --ignoreConfig --noEmit --strict --skipLibCheck false --allowJs --checkJs --module $module \
    --target es2023 --typeRoots "$root/node_modules/@types" --types node ./*.mjs typed.mts
done

# A definition in JavaScript is loaded, and one in TypeScript finds its types.
mkdir pipelines
cp "$root/test/sources/custom/pipelines/shipments.mjs" pipelines/shipments.mjs
PARCELS_URL=http://127.0.0.1:9 PARCELS_TOKEN=none npx --no-install ledgerlake plan shipments --pipelines pipelines \
  --account depot --lake other --from 2026-01-01 --to 2026-01-04 | grep -q shipments
cp "$root/test/sources/custom/typescript/shipments.ts" shipments.ts
# What init writes shows its first page from a service, and loads.
npx --no-install ledgerlake init pipeline parcels | grep -q 'PARCELS_URL'
cat >service.mjs <<'END'
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
const records = [{ id: 'p-1', created_at: '2026-01-02T00:00:00Z', amount: { value: '12.10', currency: 'EUR' } }];
const server = createServer((_, response) => response.setHeader('content-type', 'application/json').end(JSON.stringify({ records })));
server.listen(0, '127.0.0.1', () => writeFileSync('port', String(server.address().port)));
END
node service.mjs &
service=$!
trap 'kill $service; rm -rf "$folder"' EXIT
until [ -s port ]; do sleep 0.1; done
export PARCELS_URL="http://127.0.0.1:$(cat port)" PARCELS_TOKEN=none
loading='backfill parcels --pipelines pipelines --account depot --lake parcels --from 2026-01-01 --to 2026-01-04'
npx --no-install ledgerlake $loading --dry-run | grep -q '12.1'
test ! -e parcels
npx --no-install ledgerlake $loading --json 2>/dev/null | grep -q '"status":"done"'
"$root/node_modules/.bin/tsc" --noEmit --strict --module nodenext --target es2023 shipments.ts
echo 'The package installs and works in an empty folder.'
