import { expect, onTestFinished, test } from 'vitest';
import { database, ran, temporaryFolder } from '../commands/lake-run.js';
import { runningClock } from '../running-clock.js';
import { evenLedger } from './even-ledger.js';
import { watchedService } from './watched-service.js';

const clock = runningClock('2026-03-20T12:00:00Z', 100);
const range = { from: '2026-02-01', to: '2026-03-15' };
const days = 42;
const perDay = 30;

// The live service's limit is 15,300 events; this one gives up beyond 150.
test.each([
  { what: 'two of three are', settlementDays: 20, tooLarge: [0, 1], rate: 1000, fine: 2 * perDay },
  { what: 'two of three are, with requests worth saving', settlementDays: 20, tooLarge: [0, 1], rate: 100, fine: 60 },
  { what: 'each is', settlementDays: 7, tooLarge: [0, 1, 2, 3, 4, 5], rate: 1000, fine: 0 },
])(
  'settlements too large to be read are told and left open, where $what: their events come by date',
  async ({ settlementDays, tooLarge, rate, fine }) => {
    let isLimited = true;
    const faults = { 'group-limit': { amount: 150, when: () => isLimited } };
    const ledger = evenLedger(range.from, days, perDay, settlementDays);
    const service = await watchedService(ledger, clock, { faults });
    onTestFinished(() => service.close());
    const lake = await temporaryFolder();
    const given = { lake, endpoint: service.url, account: 'shop', ...range, rate };
    const count = async (table: string) => {
      const [row] = await (await database(lake, clock)).rows(`SELECT count(*) AS n FROM ${table}`);
      return Number(row?.['n']);
    };

    const logged: string[] = [];
    const failure = await ran(given, { clock, logged }).catch((error: unknown) => error);
    expect(failure).toMatchObject({ code: 'INCOMPLETE', exitCode: 1 });
    expect(String(failure)).toMatch(/left open group-events group GROUP-\d, and \d more: .*InvalidInput/);
    for (const number of tooLarge) {
      expect(logged).toContainEqual(expect.stringMatching(`group-events: group GROUP-${number} is left open: `));
    }
    expect(await count('events')).toBe(days * perDay);
    expect(await count('group_events')).toBe(fine);

    // Left open is not loaded: the next run tries them again, and nothing else.
    isLimited = false;
    const { summary } = await ran(given, { clock });
    expect(summary.pipelines['group-events']).toMatchObject({ slices: tooLarge.length });
    expect(summary.pipelines['financial-events']).toMatchObject({ requests: 0 });
    expect(await count('group_events')).toBe(days * perDay);
  },
);
