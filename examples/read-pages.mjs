// Writes the pages of the service, paced by its quota, to a file for `ledgerlake import`. No lake is needed.
//
//   node read-pages.mjs FROM TO FILE.ndjson
import { open } from 'node:fs/promises';
import { createFinancesClient } from 'ledgerlake';

const [, , PostedAfter, PostedBefore, path] = process.argv;

const client = await createFinancesClient({
  onEvent: (event) => {
    if (event.event === 'request-failed')
      console.log(`${event.operation}: ${event.cause}, again in ${event.waitSeconds} s`);
  },
});
const file = await open(path, 'wx');
try {
  const counts = new Map();
  for await (const { body, results } of client.pages('ListFinancialEvents', { PostedAfter, PostedBefore })) {
    await file.write(body);
    await file.write('\n');
    for (const { list } of results) counts.set(list, (counts.get(list) ?? 0) + 1);
  }
  for (const [list, count] of counts) console.log(`${list}: ${count}`);

  // The same one by one: `json` reads a result without a float, `json.raw` is its bytes.
  for await (const { json } of client.results('listTransactions', {
    postedAfter: PostedAfter,
    postedBefore: PostedBefore,
  })) {
    const total = json.at('totalAmount', 'currencyAmount')?.text;
    console.log(`${json.at('transactionType')?.text}: ${total} ${json.at('totalAmount', 'currencyCode')?.text}`);
    break;
  }
} finally {
  await file.close();
  await client.close();
}
