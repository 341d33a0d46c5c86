import { expect, test } from 'vitest';
import {
  day,
  idOf,
  listIn,
  pages,
  paths,
  payloadOf,
  start,
  startSeller,
  statusOf,
  transactionsOf,
  iso,
} from '../serve/transactions/seller-server.js';

/** Of the client, what is used here: it comes without types. */
interface OfficialSdk {
  readonly Finances20240619SpApi: Api<'listTransactions' | 'listSummary'>;
  readonly TransfersSpApi: Api<'listPayouts'>;
}

interface Api<Method extends string> {
  readonly ApiClient: new (baseUrl: string) => ApiClient;
  readonly DefaultApi: new (client: ApiClient) => Readonly<Record<Method, (asked: object) => Promise<Answer>>>;
}

interface ApiClient {
  applyXAmzAccessTokenToRequest(accessToken: string): void;
  disableRateLimiter(): void;
}

interface Answer {
  readonly payload?: { readonly transactions: readonly Transaction[]; readonly nextToken?: string };
  readonly summaries?: readonly { readonly netProceeds: { readonly currencyAmount: number } }[];
  readonly payouts?: readonly { readonly id: string }[];
}

interface Transaction {
  readonly transactionId: string;
  readonly transactionStatus: string;
  readonly totalAmount: { readonly currencyAmount: number };
}

// Put together, as the compiler would look for types otherwise.
const name = ['@amazon-sp-api-release', 'amazon-sp-api-sdk-js'].join('/');
const sdk = (await import(name)) as OfficialSdk;

test('@amazon-sp-api-release/amazon-sp-api-sdk-js reads all transactions, payouts and summaries of a seller', async () => {
  const seller = await startSeller({ events: 6000 });
  function clientOf<Method extends string>({ ApiClient, DefaultApi }: Api<Method>) {
    const client = new ApiClient(seller.server.url);
    client.applyXAmzAccessTokenToRequest('any');
    client.disableRateLimiter();
    return new DefaultApi(client);
  }
  const finances = clientOf(sdk.Finances20240619SpApi);
  const [postedAfter, postedBefore] = [new Date(start - 60 * day), new Date(start - day)];

  const read: Transaction[] = [];
  let nextToken: string | undefined;
  let count = 0;
  do {
    const { payload } = await finances.listTransactions({ postedAfter, postedBefore, nextToken });
    read.push(...(payload?.transactions ?? []));
    nextToken = payload?.nextToken;
    count += 1;
  } while (nextToken !== undefined);
  const expected = await transactionsOf(seller, { postedAfter: iso(start - 60 * day), postedBefore: iso(start - day) });
  expect(count).toBeGreaterThan(5);
  expect(read.map((one) => [one.transactionId, one.transactionStatus])).toEqual(
    expected.map((one) => [idOf(one), statusOf(one)]),
  );

  const { payouts } = await clientOf(sdk.TransfersSpApi).listPayouts({ createdAfter: postedAfter });
  const answers = await pages(seller, paths.payouts, { createdAfter: iso(start - 60 * day) });
  expect(payouts?.map(({ id }) => id)).toEqual(
    answers.flatMap((answer) => listIn(payloadOf(answer), 'payouts')).map(({ id }) => id),
  );
  const days = { periodStart: new Date('2025-05-01'), periodEnd: new Date('2025-05-31') };
  const { summaries } = await finances.listSummary(days);
  expect(summaries).toHaveLength(6);
  for (const { netProceeds } of summaries ?? []) expect(netProceeds.currencyAmount).toBeGreaterThan(0);
});
