import { test } from 'vitest';
import { eventLists } from '../../src/sources/finances/api-v0/event-records.js';
import { expectWholeLake, patiently, type Payload } from './whole-lake.js';

/** Of the client, what is used here: it comes without types. */
interface OfficialSdk {
  readonly FinancesSpApi: {
    readonly ApiClient: new (baseUrl: string) => ApiClient;
    readonly DefaultApi: new (client: ApiClient) => Readonly<Record<Method, (...asked: unknown[]) => Promise<Answer>>>;
  };
}

interface ApiClient {
  applyXAmzAccessTokenToRequest(accessToken: string): void;
  disableRateLimiter(): void;
}

/** A page in the client's own names: `shipmentEventList`. */
interface Answer {
  readonly payload?: {
    readonly nextToken?: string;
    readonly financialEventGroupList?: readonly unknown[];
    readonly financialEvents?: Readonly<Record<string, readonly unknown[]>>;
  };
}

type Method =
  'listFinancialEventGroups' | 'listFinancialEvents' | 'listFinancialEventsByGroupId' | 'listFinancialEventsByOrderId';

// Put together, as the compiler would look for types otherwise.
const name = ['@amazon-sp-api-release', 'amazon-sp-api-sdk-js'].join('/');
const { FinancesSpApi } = (await import(name)) as OfficialSdk;

const lists = new Map(Object.keys(eventLists).map((list) => [list.toLowerCase(), list]));

function payloadOf({ payload = {} }: Answer): Payload {
  const { nextToken: NextToken, financialEventGroupList: FinancialEventGroupList, financialEvents } = payload;
  if (financialEvents === undefined) return { NextToken, FinancialEventGroupList };
  const named = Object.entries(financialEvents).map(
    ([list, events]) => [lists.get(list.toLowerCase()) ?? list, events] as const,
  );
  return { NextToken, FinancialEvents: Object.fromEntries(named) };
}

function statusOf(error: unknown): number | undefined {
  return error instanceof Error && 'status' in error && typeof error.status === 'number' ? error.status : undefined;
}

test('@amazon-sp-api-release/amazon-sp-api-sdk-js reads all of a lake from its replica', () =>
  expectWholeLake((replica) => {
    const client = new FinancesSpApi.ApiClient(replica.url);
    // It would wait for real seconds.
    client.disableRateLimiter();
    const api = new FinancesSpApi.DefaultApi(client);
    return patiently(replica, statusOf, async (asked, accessToken) => {
      client.applyXAmzAccessTokenToRequest(accessToken);
      const { operation, subject, after, before, pageSize: maxResultsPerPage, token } = asked;
      const [from, to] = [new Date(after), new Date(before)];
      const page = { maxResultsPerPage, ...(token !== undefined && { nextToken: token }) };
      const answers = {
        ListFinancialEventGroups: () =>
          api.listFinancialEventGroups({
            financialEventGroupStartedAfter: from,
            financialEventGroupStartedBefore: to,
            ...page,
          }),
        ListFinancialEvents: () => api.listFinancialEvents({ postedAfter: from, postedBefore: to, ...page }),
        ListFinancialEventsByGroupId: () => api.listFinancialEventsByGroupId(subject, page),
        ListFinancialEventsByOrderId: () => api.listFinancialEventsByOrderId(subject, page),
      };
      return payloadOf(await answers[operation]());
    });
  }));
