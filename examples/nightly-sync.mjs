// A nightly run: loads what is new, reads again what may have changed, and fails if the lake is older than two days.
//
//   node nightly-sync.mjs [LAKE [ACCOUNT …]]
//
// Accounts are loaded in turn; without any, the configured one is loaded. Endpoints and secrets come from
// ledgerlake.config.json or the environment, as for the command line.
import { LedgerlakeError, sync } from 'ledgerlake';

const [lake = 'data/lake', ...accounts] = process.argv.slice(2);
for (const each of accounts.length > 0 ? accounts : [undefined]) {
  try {
    const { account, pipelines, changes = {}, lag_seconds: lag } = await sync({ lake, account: each, maxLag: '2d' });
    for (const [name, { events, requests, left_open: open }] of Object.entries(pipelines)) {
      console.log(`${account}: ${name}: ${events} events in ${requests} requests, ${open.length} slices left open`);
    }
    for (const [name, { appeared, vanished }] of Object.entries(changes)) {
      console.log(`${account}: ${name}: ${appeared} late, ${vanished} withdrawn`);
    }
    console.log(`${account}: the lake is ${Math.round((lag ?? 0) / 60)} minutes old`);
  } catch (error) {
    if (!(error instanceof LedgerlakeError)) throw error;
    // What was committed stays, and the next night goes on from there.
    console.error(`${each === undefined ? '' : `${each}: `}${error.code}: ${error.message}`);
    process.exitCode = accounts.length > 1 ? 1 : error.exitCode;
  }
}
