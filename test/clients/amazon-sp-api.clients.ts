import { Agent } from 'node:https';
import { createRequire } from 'node:module';
import { connect } from 'node:net';
import { test } from 'vitest';
import { expectWholeLake, type Payload } from './whole-lake.js';

/** Of the client, what is used here: its own types are sources that only compile with less strict settings. */
type Client = new (configuration: object) => { callAPI(request: object): Promise<Payload> };

const SellingPartner = createRequire(import.meta.url)('amazon-sp-api') as Client;

const names = {
  ListFinancialEventGroups: 'listFinancialEventGroups',
  ListFinancialEvents: 'listFinancialEvents',
  ListFinancialEventsByGroupId: 'listFinancialEventsByGroupId',
  ListFinancialEventsByOrderId: 'listFinancialEventsByOrderId',
} as const;

/** Connects to the replica, in place of the hosts that the client was written for, and without TLS. */
class LoopbackAgent extends Agent {
  readonly #port: number;

  constructor(port: number) {
    super();
    this.#port = port;
  }

  override createConnection() {
    return connect(this.#port, '127.0.0.1');
  }
}

test('amazon-sp-api signs in and reads all of a lake from its replica', () =>
  expectWholeLake(({ port, credentials }) => {
    const client = new SellingPartner({
      region: 'eu',
      refresh_token: 'Atzr|test',
      credentials: {
        SELLING_PARTNER_APP_CLIENT_ID: credentials.id,
        SELLING_PARTNER_APP_CLIENT_SECRET: credentials.secret,
      },
      // Signs in by itself, also when the access token has expired, and sends what was throttled again.
      options: { auto_request_tokens: true, auto_request_throttled: true, https_proxy_agent: new LoopbackAgent(port) },
    });
    return ({ operation, subject, after, before, pageSize, token }) => {
      const dates = {
        ListFinancialEventGroups: { FinancialEventGroupStartedAfter: after, FinancialEventGroupStartedBefore: before },
        ListFinancialEvents: { PostedAfter: after, PostedBefore: before },
        ListFinancialEventsByGroupId: {},
        ListFinancialEventsByOrderId: {},
      }[operation];
      return client.callAPI({
        operation: names[operation],
        endpoint: 'finances',
        path: { eventGroupId: subject, orderId: subject },
        query: { ...dates, MaxResultsPerPage: pageSize, ...(token !== undefined && { NextToken: token }) },
        options: { version: 'v0', restore_rate: 0.01 },
      });
    };
  }));
