// Sums the net amounts of a month by currency and kind, exactly.
//
//   node query-month.mjs [2026-01] [LAKE]
import { openLake } from 'ledgerlake';

const [, , month = new Date().toISOString().slice(0, 7), path = 'data/lake'] = process.argv;
if (!/^\d{4}-(?:0[1-9]|1[0-2])$/.test(month)) {
  console.error(`expected a month such as 2026-01, got ${month}`);
  process.exit(2);
}

const lake = await openLake(path);
try {
  const { accounts } = await lake.status();
  for (const { account, lag_seconds: lag } of accounts) console.log(`${account}: ${lag} s behind`);

  // A DECIMAL is returned as text, so that no digit is lost, and a BIGINT as a bigint.
  const rows = await lake.sql(
    `SELECT currency, kind, count(*) AS amounts, sum(amount) AS net
     FROM entries WHERE role = 'net' AND month = $1 GROUP BY ALL ORDER BY ALL`,
    { parameters: [month] },
  );
  for (const { currency, kind, amounts, net } of rows) console.log(`${currency} ${kind}: ${net} in ${amounts} amounts`);
} finally {
  await lake.close();
}
