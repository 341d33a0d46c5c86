// A nightly run: loads new data, re-reads data that may have changed, and fails if the lake is more than two days old.
//
//   node nightly-sync.mjs [LAKE [ACCOUNT …]]
//
// The first load is a backfill: with `maxLag` a sync begins no lake, as a disk that is not mounted is an empty folder.
// Accounts are loaded one after the other; without any it is the configured one. Endpoints and secrets come from
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
    // Committed slices stay, and the next run continues after them.
    console.error(`${each === undefined ? '' : `${each}: `}${error.code}: ${error.message}`);
    process.exitCode = accounts.length > 1 ? 1 : error.exitCode;
  }
}
