import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { Clock } from '../../../src/core/clock.js';
import { backfill } from '../../../src/app/load/backfill.js';
import { openStore } from '../../../src/lake/store/open-store.js';
import { compact } from '../../../src/app/maintenance/compact-lake.js';
import { plan } from '../../../src/app/plan/plan.js';
import type { LakeStatus } from '../../../src/app/results.js';
import { status, type StatusCommand } from '../../../src/app/status/status.js';
import { Kept } from '../../core/text/streams.js';
import { settlement as backendGroup } from '../load/backend-items.js';
import { repaired } from '../repair/repaired.js';
import type { Finding } from '../../../src/app/doctor/findings.js';
import { examineLake } from '../../../src/app/doctor/lake-findings.js';
import { forget } from '../../../src/app/forget/forget.js';
import type { RunEvent } from '../../../src/core/events/run-event.js';
import { messageOf } from '../../../src/core/errors.js';
import { Secret } from '../../../src/engine/auth/secret.js';
import { secrets, tokenEndpoint, tokenOf } from '../../engine/auth/token-endpoint.js';
import { failureOf } from '../../failure-of.js';
import {
  amountLine,
  reportHeader,
  reportText,
  type ReportFields,
} from '../../sources/finances/settlement-reports/report-file.js';
import { imported } from '../import/imported.js';
import { runningClock } from '../../running-clock.js';
import { freePort } from '../../free-port.js';
import { ended } from '../ended.js';
import { clockAt, database, defaults, fileHashes, temporaryFolder, ran } from '../lake-run.js';
import { synced } from '../load/synced.js';
import { found, verified } from '../verify/verified.js';
import { failingStore } from '../maintenance/failing-store.js';
import { reportsServer, type Answer, type OfferedReport } from './reports-server.js';

const pipeline = 'settlement-reports';

/** A clock on which time passes only for who sleeps, at once. */
function wakingClock(iso: string) {
  let now = Date.parse(iso);
  return {
    now: () => now,
    sleep: (ms: number, signal?: AbortSignal) => {
      now += Math.ceil(ms);
      signal?.throwIfAborted();
      return Promise.resolve();
    },
  };
}

const clock = clockAt('2026-04-01T00:00:00Z');

/** A settlement with some amounts, in lines. */
function settlement(id: string, amounts: readonly string[], more: ReportFields = {}): readonly string[] {
  const total = amounts.reduce((sum, amount) => sum + Number(amount), 0).toFixed(2);
  return [reportHeader(id, total, more), ...amounts.map((amount) => amountLine(id, amount))];
}

function report(id: string, created: string, ...settlements: readonly (readonly string[])[]): OfferedReport {
  return { id, created, text: reportText(...settlements.flat()) };
}

async function shop(reports: readonly OfferedReport[], options: { readonly pageSize?: number } = {}) {
  const server = await reportsServer(reports, options);
  const root = await temporaryFolder();
  const given = { lake: root, endpoint: server.endpoint, account: 'shop', pipelines: [pipeline], from: '2026-03-01' };
  return { ...server, root, given };
}

async function rowsOf(root: string, sql: string): Promise<unknown[][]> {
  const reader = await database(root, clock);
  return (await reader.rows(sql)).map((row) => Object.values(row));
}

/** The settlements of a lake: id, document, total. */
const settlements = (root: string) =>
  rowsOf(root, 'SELECT settlement_id, document, total_amount::VARCHAR FROM settlement_reports ORDER BY ALL');

const idsOf = (requests: readonly { readonly path: string }[]) =>
  requests.map(({ path }) => path.slice(1).split('?')[0]);

describe('documents', () => {
  test('that overlap are loaded in order of creation, each settlement once', async () => {
    const all = ['1', '2', '3', '4'].map((id) => settlement(id, [`${id}.00`, `${id}.50`]));
    const { root, given, asked, downloads } = await shop([
      report('R1', '2026-03-17T00:00:00Z', ...all.slice(0, 1)),
      report('R3', '2026-03-19T00:00:00Z', ...all.slice(0, 4)),
      report('R2', '2026-03-18T00:00:00Z', ...all.slice(0, 2)),
    ]);
    const emitted: RunEvent[] = [];
    const { summary } = await ran(given, { clock, emitted });
    // What was opened is closed, although what is committed are the settlements.
    const labels = (name: RunEvent['event']) =>
      emitted.flatMap((event) => (event.event === name && 'slice' in event ? [event.slice] : []));
    expect(labels('slice-opened')).toHaveLength(3);
    expect(labels('slice-closed').toSorted()).toEqual(labels('slice-opened').toSorted());
    expect(await settlements(root)).toEqual([
      ['1', 'R1', '2.500000'],
      ['2', 'R2', '4.500000'],
      ['3', 'R3', '6.500000'],
      ['4', 'R3', '8.500000'],
    ]);
    expect(summary.pipelines[pipeline]).toMatchObject({
      requests: 7,
      rows: { settlement_lines: 8, settlement_reports: 4 },
    });
    expect(asked.map(({ path }) => decodeURIComponent(path))).toEqual([
      '/reports/2021-06-30/reports?reportTypes=GET_V2_SETTLEMENT_REPORT_DATA_FLAT_FILE_V2&createdSince=2026-03-01T00:00:00.000Z&pageSize=100',
      ...['R1', 'R2', 'R3'].map((id) => `/reports/2021-06-30/documents/document of ${id}`),
    ]);
    expect(downloads.map(({ path }) => path)).toEqual([
      '/R1?X-Amz-Signature=signature-1',
      '/R2?X-Amz-Signature=signature-2',
      '/R3?X-Amz-Signature=signature-3',
    ]);
    const certificate = await verified({ root, clock });
    expect([certificate.code, found(certificate)]).toEqual([0, []]);
    // The document of the settlement that was stored last is read again, as a run may have died within it.
    const again = await synced(given, { clock });
    expect(again.failure).toBeUndefined();
    expect(idsOf(downloads).slice(3)).toEqual(['R3']);
    expect(again.printed).toContain('unchanged');
  });

  test('of a listing with several pages are all read, each page by its token alone', async () => {
    const all = ['1', '2', '3', '4', '5'].map((id) => report(id, `2026-03-1${id}T00:00:00Z`, settlement(id, ['1.00'])));
    const { root, given, asked } = await shop(all, { pageSize: 2 });
    await ran(given, { clock });
    expect((await settlements(root)).map(([id]) => id)).toEqual(['1', '2', '3', '4', '5']);
    expect(asked.filter(({ path }) => path.includes('nextToken'))).toHaveLength(2);
  });

  test('that restate a settlement replace it, and the history has the difference; an older one never replaces a newer one', async () => {
    const old = report('old', '2026-03-17T00:00:00Z', settlement('1', ['5.00', '7.00']));
    const { root, given, state } = await shop([old]);
    await ran(given, { clock });
    // An older one isn't listed for ever.
    state.reports[0] = report('new', '2026-03-20T00:00:00Z', settlement('1', ['5.00', '6.50']));
    const { printed } = await ran(given, { clock });
    expect(printed).toContain('Changed since it was read last, settlement-reports: 1 appeared, 1 vanished, 1 differ');
    state.reports.push(report('late', '2026-03-18T00:00:00Z', settlement('1', ['5.00', '9.00'])));
    await ran(given, { clock });
    await ran({ ...given, refresh: true }, { clock });
    expect(await settlements(root)).toEqual([['1', 'new', '11.500000']]);
    expect(await rowsOf(root, "SELECT change, attributes::JSON->>'amount' FROM event_history ORDER BY ALL")).toEqual([
      ['appeared', null],
      ['vanished', '7.000000'],
    ]);
    expect(await rowsOf(root, 'SELECT source, net::VARCHAR FROM changed_amounts ORDER BY ALL')).toEqual([
      ['settlement_lines', '6.500000'],
      ['settlement_lines', '7.000000'],
    ]);
  });

  test('are decoded by their charset, else by their bytes, and decompressed', async () => {
    const named = (id: string, sku: string) => [reportHeader(id, '1.00'), amountLine(id, '1.00', { sku })];
    const text = (id: string, sku: string) => reportText(...named(id, sku));
    const created = '2026-03-17T00:00:00Z';
    const shiftJis = Buffer.concat([
      Buffer.from(text('4', '?').split('?')[0] ?? ''),
      Buffer.from([0x93, 0xfa, 0x96, 0x7b]),
      Buffer.from(text('4', '?').split('?')[1] ?? ''),
    ]);
    const { root, given } = await shop([
      { id: '1', created, text: `\ufeff${text('1', 'Größe')}`, isCompressed: true },
      {
        id: '2',
        created,
        text: Buffer.from(text('2', 'Größe'), 'latin1'),
        contentType: 'text/plain; charset=windows-1252',
      },
      // The charset is wrong: the bytes decide.
      { id: '3', created, text: Buffer.from(text('3', 'Größe'), 'latin1'), contentType: 'text/plain;charset=UTF-8' },
      { id: '4', created, text: shiftJis, contentType: 'text/tab-separated-values; charset="Shift_JIS"' },
      { id: '5', created, text: text('5', 'Größe'), contentType: 'application/octet-stream', isCompressed: true },
    ]);
    await ran(given, { clock });
    expect(await rowsOf(root, 'SELECT settlement_id, sku FROM settlement_lines ORDER BY ALL')).toEqual([
      ['1', 'Größe'],
      ['2', 'Größe'],
      ['3', 'Größe'],
      ['4', '日本'],
      ['5', 'Größe'],
    ]);
  });

  test('are read again once they are written, and those that the service could not write are reported', async () => {
    const { root, given, state } = await shop([
      { ...report('1', '2026-03-17T00:00:00Z', settlement('1', ['1.00'])), status: 'IN_PROGRESS' },
      report('2', '2026-03-18T00:00:00Z', settlement('2', ['1.00'])),
      { id: '3', created: '2026-03-19T00:00:00Z', status: 'FATAL' },
      { id: '4', created: '2026-03-10T00:00:00Z', status: 'CANCELLED' },
    ]);
    const first = await ran(given, { clock });
    expect(first.printed).toContain(
      'Warning: 2 reports that the service could not write (their settlements are in none): report 4 of 2026-03-10, CANCELLED; report 3 of 2026-03-19, FATAL',
    );
    state.reports[0] = report('1', '2026-03-17T00:00:00Z', settlement('1', ['1.00']));
    const second = await synced(given, { clock });
    // The older one is behind what the lake has.
    expect(second.printed).toContain(
      'Warning: 1 report that the service could not write (their settlements are in none): report 3',
    );
    expect((await settlements(root)).map(([id]) => id)).toEqual(['1', '2']);
  });

  test('that are no settlement report, or can not be decompressed, are left open, and the others are loaded', async () => {
    const created = '2026-03-17T00:00:00Z';
    const { root, given, state } = await shop([
      { id: '1', created, text: 'sku\tprice\n' },
      report('2', '2026-03-18T00:00:00Z', settlement('2', ['1.00'])),
    ]);
    const waking = wakingClock('2026-04-01T00:00:00Z');
    expect(messageOf(await failureOf(ran(given, { clock: waking })))).toBe(
      'left open settlement-reports report 1 of 2026-03-17: document: expected a settlement report, found a document whose first line names no column settlement-id. Tried 8 times.',
    );
    expect((await settlements(root)).map(([id]) => id)).toEqual(['2']);
    state.reports[0] = { ...report('1', created, settlement('1', ['1.00'])) };
    state.compression = 'GZIP';
    expect(messageOf(await failureOf(ran(given, { clock: waking })))).toContain(
      'expected a document that is compressed with gzip, found other bytes. Tried 8 times., and 1 more'.split(',')[0] ??
        '',
    );
    state.compression = 'ZSTD';
    expect(messageOf(await failureOf(ran(given, { clock: waking })))).toContain('got another algorithm');
    delete state.compression;
    await ran(given, { clock: waking });
    expect((await settlements(root)).map(([id]) => id)).toEqual(['1', '2']);
  });

  test('with a settlement that can be read in two ways load the others', async () => {
    const unclear = [reportHeader('2', '1,234'), amountLine('2', '1,234')];
    const { root, given } = await shop([
      report('R', '2026-03-17T00:00:00Z', settlement('1', ['1.00']), unclear, settlement('3', ['1.00'])),
    ]);
    const error = await failureOf(ran(given, { clock }));
    expect(messageOf(error)).toBe(
      'left open settlement-reports report R of 2026-03-17, line 4: expected amounts of the settlement 2 that can be read in one way, found 1,234, which is 1234 or 1.234',
    );
    expect((await settlements(root)).map(([id]) => id)).toEqual(['1', '3']);
  });
});

describe('the host of documents', () => {
  test('gets no token, and no message has the address of a document', async () => {
    const { endpoint, given, asked, downloads, firstDownloads } = await shopWithFaults();
    const tokens = await tokenEndpoint();
    const signIn = {
      account: 'shop',
      tokenEndpoint: tokens.url,
      clientId: new Secret(secrets.clientId),
      clientSecret: new Secret(secrets.clientSecret),
      refreshToken: new Secret(secrets.refreshToken),
    };
    const [logged, emitted] = [new Array<string>(), new Array<RunEvent>()];
    const waking = wakingClock('2026-04-01T00:00:00Z');
    firstDownloads.push(500, 403, 'cut', 429);
    const { printed } = await ran({ ...given, endpoint, signIn }, { clock: waking, logged, emitted });
    expect(asked.every(({ headers }) => headers['x-amz-access-token'] === tokenOf(1))).toBe(true);
    expect(downloads).toHaveLength(5);
    for (const { headers } of downloads) {
      expect(JSON.stringify(headers)).not.toContain('Atza');
      expect(headers.authorization).toBeUndefined();
    }
    expect(JSON.stringify([printed, logged, emitted])).not.toMatch(/signature|X-Amz/);
    expect(emitted.filter(({ event }) => event === 'request-failed')).toMatchObject([
      { operation: 'document', cause: 'fault', status: 500 },
      { operation: 'document', cause: 'cursor-expired', status: 403 },
      { operation: 'document', cause: 'fault', status: null },
      { operation: 'document', cause: 'throttled', status: 429 },
    ]);
    // The expired address was requested again.
    expect(downloads.map(({ path }) => path.at(-1))).toEqual(['1', '1', '2', '2', '2']);
  });

  test('that refuses every address leaves the document open, without its address in the error', async () => {
    const { given, firstDownloads, downloads } = await shopWithFaults();
    firstDownloads.push(403, 403, 403);
    const error = await failureOf(ran(given, { clock: wakingClock('2026-04-01T00:00:00Z') }));
    expect(messageOf(error)).toBe(
      "left open settlement-reports report R of 2026-03-17: the document's host answered with status 403. Its address may have expired.",
    );
    expect(downloads).toHaveLength(3);
  });

  test('must be one of https where the service is, and can be one of http where the service is not', async () => {
    const { given, state, downloads } = await shopWithFaults();
    state.url = 'ftp://127.0.0.1/R?signature';
    const error = await failureOf(ran(given, { clock }));
    expect(messageOf(error)).toBe(
      "left open settlement-reports report R of 2026-03-17: expected a document's address that begins with https://, got another one",
    );
    expect(downloads).toEqual([]);
  });

  test('that is not there leaves the document open, and the run goes on', async () => {
    const { given, state } = await shopWithFaults();
    state.url = `http://127.0.0.1:${await freePort()}/R?signature`;
    const error = await failureOf(ran(given, { clock: wakingClock('2026-04-01T00:00:00Z') }));
    expect(messageOf(error)).toMatch(
      /^left open settlement-reports report R of 2026-03-17: cannot read from 127\.0\.0\.1:\d+: /,
    );
    expect(error).not.toMatchObject({ details: expect.stringContaining('signature') as string });
  });
});

/** One report, whose document fails as often as a test says. */
async function shopWithFaults() {
  const made = await shop([report('R', '2026-03-17T00:00:00Z', settlement('1', ['1.00']))]);
  const firstDownloads: (number | 'cut')[] = [];
  made.state.firstDownload = (request, response) => {
    const fault = firstDownloads.shift();
    if (fault === undefined) return false;
    if (fault === 'cut') request.socket.destroy();
    else response.writeHead(fault, { 'retry-after': '1' }).end(`<Error>${request.url ?? ''}</Error>`);
    return true;
  };
  return { ...made, firstDownloads };
}

describe('runs', () => {
  test('that die at any change go on there, and skip no document', async () => {
    const all = ['1', '2', '3', '4'].map((id) => settlement(id, [`${id}.00`]));
    const { given } = await shop([
      report('R1', '2026-03-17T00:00:00Z', ...all.slice(0, 2)),
      report('R2', '2026-03-18T00:00:00Z', ...all.slice(1, 4)),
    ]);
    for (let dieAt = 1; ; dieAt += 3) {
      const lake = await temporaryFolder();
      const store = failingStore(openStore(lake), dieAt);
      const { failure } = await ended(backfill({ ...defaults, ...given, lake, store }, context(clock)));
      // The next run is a sync, which reads no more than a backfill.
      const { failure: next } = await synced({ ...given, lake }, { clock });
      expect(next).toBeUndefined();
      expect(await settlements(lake)).toEqual([
        ['1', 'R1', '1.000000'],
        ['2', 'R1', '2.000000'],
        ['3', 'R2', '3.000000'],
        ['4', 'R2', '4.000000'],
      ]);
      if (failure === undefined) break;
    }
  });

  test('without access to reports end in one line, and load all else', async () => {
    const { given, state } = await shop([]);
    state.first = ({ url = '' }, response) => {
      if (url.startsWith('/reports/')) {
        const errors = [{ code: 'Unauthorized', message: 'Access to requested resource is denied.', details: '' }];
        response.writeHead(403, { 'content-type': 'application/json' }).end(JSON.stringify({ errors }));
      } else if (url.includes('financialEventGroups')) {
        response.writeHead(200).end(JSON.stringify({ payload: { FinancialEventGroupList: [] } }));
      } else return false;
      return true;
    };
    const emitted: RunEvent[] = [];
    const pipelines = [pipeline, 'financial-event-groups'];
    const error = await failureOf(ran({ ...given, pipelines }, { clock, emitted }));
    const message = messageOf(error);
    expect(message).toMatch(
      /^left open settlement-reports what has changed: getReports got status 403: Unauthorized: .*role Finance and Accounting/,
    );
    expect(message).not.toContain('\n');
    expect(emitted.filter(({ event }) => event === 'slice-committed')).not.toEqual([]);
  });

  test('that are throttled wait as long as they are told', async () => {
    const { root, given, state, asked } = await shop([report('R', '2026-03-17T00:00:00Z', settlement('1', ['1.00']))]);
    let left = 2;
    state.first = (_request, response) => {
      if (left-- <= 0) return false;
      response.writeHead(429, { 'retry-after': '30' }).end('{"errors":[{"code":"QuotaExceeded","message":"wait"}]}');
      return true;
    };
    const waking = wakingClock('2026-04-01T00:00:00Z');
    const { summary } = await ran(given, { clock: waking });
    expect(summary.pipelines[pipeline]).toMatchObject({ throttled: 2, retries: 2 });
    expect(waking.now() - clock.now()).toBeGreaterThanOrEqual(60_000);
    expect(asked).toHaveLength(4);
    expect(await settlements(root)).toHaveLength(1);
  });

  test('pace documents by their own quota', async () => {
    const all = Array.from({ length: 18 }, (_, at) =>
      report(String(at), `2026-03-${10 + at}T00:00:00Z`, settlement(String(at), ['1.00'])),
    );
    const { given } = await shop(all);
    const fast = runningClock('2026-04-01T00:00:00Z', 500);
    const journal = await temporaryFolder();
    await ran({ ...given, rate: 0.5, burst: undefined, journal }, { clock: fast });
    // 15 at once, then one a minute.
    expect((fast.now() - clock.now()) / 1000).toBeGreaterThan(2 / 0.0167);
  });

  test('request what the service keeps, and say so', async () => {
    const { given, asked } = await shop([]);
    const { logged } = await ran({ ...given, from: '2025-01-01' }, { clock });
    expect(logged).toContain(
      'The service keeps settlement reports for 90 days: settlement-reports loads those that were created since 2026-01-01; import the files of older ones',
    );
    expect(asked[0]?.path).toContain('createdSince=2026-01-01T00:05:00.000Z&');
  });
});

/** A service whose other answers are empty. */
const noGroups: Answer = ({ url = '' }, response) => {
  if (url.startsWith('/reports/')) return false;
  const payload = url.includes('financialEventGroups') ? { FinancialEventGroupList: [] } : { FinancialEvents: {} };
  response.writeHead(200).end(JSON.stringify({ payload }));
  return true;
};

describe('a sync', () => {
  const reports = [
    report('R1', '2026-03-17T00:00:00Z', settlement('1', ['1.00'])),
    report('R2', '2026-03-18T00:00:00Z', settlement('2', ['2.00'])),
  ];

  test('loads reports too once a run has loaded some from the service, or as the setting says', async () => {
    const { root, given, asked, state } = await shop(reports.slice(0, 1));
    state.first = noGroups;
    const nightly = { ...given, pipelines: [], from: undefined };
    const listings = () => asked.filter(({ path }) => path.includes('reportTypes')).length;
    await synced(nightly, { clock });
    expect(listings()).toBe(0);
    await synced({ ...nightly, settlementReports: true }, { clock });
    expect([listings(), await settlements(root)]).toEqual([1, [['1', 'R1', '1.000000']]]);
    state.reports.push(...reports.slice(1));
    await synced({ ...nightly, settlementReports: false }, { clock });
    expect(listings()).toBe(1);
    const { failure } = await synced(nightly, { clock });
    expect(failure).toBeUndefined();
    expect([listings(), (await settlements(root)).map(([id]) => id)]).toEqual([2, ['1', '2']]);
  });

  test('follows imports only after a load from the service, which takes them over', async () => {
    const { root, given, asked, state, downloads } = await shop(reports);
    state.first = noGroups;
    const files = await Promise.all(
      reports.map(async ({ id, text = '' }) => {
        const file = join(await temporaryFolder(), `${id}.txt`);
        await writeFile(file, text);
        return file;
      }),
    );
    await imported({ root, clock }, files, { account: 'shop' });
    const nightly = { ...given, pipelines: [], from: undefined };
    await synced(nightly, { clock });
    expect(asked.filter(({ path }) => path.startsWith('/reports/'))).toEqual([]);
    const first = await ran(given, { clock });
    expect(first.printed).not.toContain('restated');
    expect(await settlements(root)).toEqual([
      ['1', 'R1', '1.000000'],
      ['2', 'R2', '2.000000'],
    ]);
    expect(await rowsOf(root, 'SELECT count(*) FROM event_history')).toEqual([[0n]]);
    await synced(nightly, { clock });
    expect(idsOf(downloads)).toEqual(['R1', 'R2', 'R2']);
    // A file that is imported later is somebody's decision, until a newer document comes.
    const file = join(await temporaryFolder(), 'mine.txt');
    await writeFile(file, reportText(...settlement('1', ['1.50'])));
    await imported({ root, clock }, [file], { account: 'shop' });
    await synced(nightly, { clock });
    expect((await settlements(root))[0]).toEqual(['1', 'mine.txt', '1.500000']);
    state.reports.push(report('R3', '2026-04-02T00:00:00Z', settlement('1', ['1.75'])));
    await synced(nightly, { clock: clockAt('2026-04-03T00:00:00Z') });
    expect((await settlements(root))[0]).toEqual(['1', 'R3', '1.750000']);
  });

  test('does not bring back what was forgotten', async () => {
    const later = {
      'settlement-start-date': '2026-03-16 07:11:20 UTC',
      'settlement-end-date': '2026-03-30 07:11:20 UTC',
    };
    const { root, given } = await shop([
      report('R1', '2026-03-17T00:00:00Z', settlement('1', ['1.00'])),
      report('R2', '2026-03-31T00:00:00Z', settlement('1', ['1.00']), settlement('2', ['2.00'], later)),
    ]);
    await ran(given, { clock });
    await forget(
      { lake: root, account: 'shop', before: '2026-03-20', yes: true },
      { ...context(clock), confirm: undefined, emit: () => undefined },
    );
    expect((await settlements(root)).map(([id]) => id)).toEqual(['2']);
    const { failure } = await synced(given, { clock });
    expect(failure).toBeUndefined();
    expect((await settlements(root)).map(([id]) => id)).toEqual(['2']);
  });
});

describe('a lake with reports', () => {
  /** What `status` says of it, for people and as JSON. */
  async function statusAt(root: string, iso: string) {
    const { accounts } = JSON.parse(await shownAt(root, iso, { format: 'json' })) as LakeStatus;
    const [{ settlement_reports: reports, pipelines } = {}] = accounts;
    return { text: await shownAt(root, iso), reports, pipelines };
  }

  async function shownAt(root: string, iso: string, more: Pick<Partial<StatusCommand>, 'format' | 'maxLag'> = {}) {
    const output = new Kept();
    const given = { lake: root, account: undefined, from: undefined, to: undefined, color: false };
    await status({ ...given, format: 'table', ...more }, { ...context(clockAt(iso)), output, emit: () => undefined });
    return output.text;
  }

  const ending = (end: string) => ({
    'settlement-start-date': `${end.slice(0, 7)}-01 00:00:00 UTC`,
    'settlement-end-date': `${end} 00:00:00 UTC`,
  });

  test('shows which reports the service will have no more, and the command that loads them', async () => {
    const { root, given, state } = await shop([
      report('R1', '2026-01-13T00:00:00Z', settlement('1', ['1.00'], ending('2026-01-12'))),
    ]);
    const groups = [
      backendGroup('G1', '2026-01-01T00:00:00Z', '2026-01-10T00:00:00Z'),
      backendGroup('G2', '2026-01-02T00:00:00Z', '2026-01-12T00:00:03Z'),
      backendGroup('G3', '2026-03-01T00:00:00Z', '2026-03-12T00:00:00Z'),
    ];
    state.first = ({ url = '' }, response) => {
      if (!url.includes('financialEventGroups')) return false;
      const [after = '', before = ''] = ['After', 'Before']
        .map((name) => new URL(url, 'http://host').searchParams.get(`FinancialEventGroupStarted${name}`))
        .map((text) => text ?? undefined);
      const listed = groups.filter((group) => group.at >= Date.parse(after) && group.at < Date.parse(before));
      response.writeHead(200).end(`{"payload":{"FinancialEventGroupList":[${listed.map(({ json }) => json).join()}]}}`);
      return true;
    };
    const at = clockAt('2026-04-05T00:00:00Z');
    await ran({ ...given, pipelines: ['financial-event-groups'], from: '2026-01-01' }, { clock: at });
    expect((await statusAt(root, '2026-04-05T00:00:00Z')).reports).toBeNull();
    await ran({ ...given, from: '2025-12-01' }, { clock: at });
    const now = await statusAt(root, '2026-04-05T00:00:00Z');
    expect(now.reports).toMatchObject({
      ended_at: '2026-01-12T00:00:00.000Z',
      listed_at: '2026-04-05T00:00:00.000Z',
      lost_from: null,
      expiring_groups: [{ group_id: 'G1', ended_at: '2026-01-10T00:00:00.000Z' }],
      command: expect.stringMatching(/^ledgerlake sync settlement-reports --lake /) as string,
    });
    expect(now.text).toContain(
      'Closed settlements without a report, which the service keeps for 90 days:\n  G1, until 2026-01-10\n',
    );
    // A sync that finds nothing new has read the list, too.
    await synced({ ...given, from: undefined }, { clock: clockAt('2026-04-11T00:00:00Z') });
    const later = await statusAt(root, '2026-04-11T00:00:00Z');
    expect(later.reports).toMatchObject({ listed_at: '2026-04-11T00:00:00.000Z', expiring_groups: [], command: null });
    expect(later.text).toContain(
      'Settlement reports: settlements that ended up to 2026-01-12, last read from the service at 2026-04-11\n',
    );
    const late = await statusAt(root, '2026-07-01T00:00:00Z');
    expect(late.reports).toMatchObject({ lost_from: '2026-07-10T00:00:00.000Z' });
    expect(late.text).toContain(
      'The service keeps them for 90 days: those written since then are lost from 2026-07-10 on\n',
    );
    expect(late.text).toContain('To load the reports that it has:\n  ledgerlake sync settlement-reports --lake ');
  });

  test('is repaired by the service while it has them, and loses them after that', async () => {
    const { root, given, state } = await shop([
      report('R1', '2026-03-17T00:00:00Z', settlement('1', ['1.00']), settlement('2', ['2.00'])),
    ]);
    state.first = noGroups;
    const nightly = { ...given, pipelines: [], from: undefined };
    await synced({ ...nightly, settlementReports: true }, { clock });
    const files = [...(await fileHashes(root)).keys()].filter((path) => path.startsWith('settlement_reports/'));
    await writeFile(join(root, files[0] ?? ''), 'damaged');
    const old = await repaired({ root, clock: clockAt('2026-06-20T00:00:00Z') }, false);
    expect(old.text).toMatch(/settlement\/\d: LOST, because it was imported or is older than the service keeps/);
    const { text } = await repaired({ root, clock });
    expect(text).toMatch(/settlement\/\d: taken out, the next backfill loads it again/);
    const [kept] = (await settlements(root)).map(([id]) => id);
    const missing = `settlement/${kept === '1' ? '2' : '1'}`;
    // A report that was taken out is like a missing day: it is named with the command that loads it, and the lake is not complete.
    const iso = '2026-04-01T00:00:00Z';
    const lacking = await statusAt(root, iso);
    expect(lacking.text).toContain(
      `settlement-reports: 1 settlement\nTaken out by repair, and not loaded again:\n  ${missing}\n`,
    );
    expect(lacking.text).toMatch(
      /To load the gaps:\n {2}ledgerlake backfill settlement-reports --lake .* --from 2026-03-01 --to 2026-04-01\n/,
    );
    const gaps = [{ from: '2026-03-01T00:00:00.000Z', to: '2026-04-01T00:00:00.000Z' }];
    expect(lacking.pipelines).toContainEqual(expect.objectContaining({ pipeline, taken_out: [missing], gaps }));
    await expect(shownAt(root, iso, { maxLag: '1d' })).rejects.toMatchObject({
      code: 'LAKE_LAG',
      message: expect.stringMatching(
        /lacks some of settlement-reports, .*; run `ledgerlake backfill settlement-reports --lake /,
      ) as string,
    });
    const findings: Finding[] = [];
    const query = {
      lake: root,
      account: undefined,
      from: undefined,
      to: undefined,
      maxLagMs: Infinity,
      mustExist: false,
    };
    await examineLake(query, clock, (finding) => findings.push(finding));
    expect(findings).toContainEqual(
      expect.objectContaining({
        state: 'fault',
        found: `shop: settlement-reports lacks ${missing}, which repair took out`,
        command: expect.stringMatching(/ backfill settlement-reports --lake /) as string,
      }),
    );
    const [offered] = state.reports.splice(0);
    expect((await synced({ ...nightly, maxLag: '1d' }, { clock })).failure).toMatchObject({
      code: 'LAKE_LAG',
      message: expect.stringContaining('lacks some of settlement-reports') as string,
    });
    state.reports.push(...(offered === undefined ? [] : [offered]));
    // Its document is named by the other settlement, and is read again all the same.
    expect((await synced({ ...nightly, settlementReports: false, maxLag: '1d' }, { clock })).failure).toBeUndefined();
    expect((await settlements(root)).map(([id]) => id)).toEqual(['1', '2']);
    const whole = await shownAt(root, iso, { maxLag: '1d' });
    expect(whole).toContain('No gap: ');
    expect(whole).not.toContain('Taken out');
    const certificate = await verified({ root, clock });
    expect([certificate.code, found(certificate)]).toEqual([0, []]);
  });

  test('of the synthetic seller equals one of its documents, and a plan knows how many there are', async () => {
    const now = clockAt('2026-04-01T00:00:00Z');
    const root = await temporaryFolder();
    const given = { lake: root, from: '2026-02-01' };
    await ran({ ...given, pipelines: ['financial-event-groups'], from: '2026-01-01' }, { clock: now });
    const output = new Kept();
    const planning = { ...defaults, ...given, pipelines: [pipeline], probe: false, format: 'json' as const };
    await plan(planning, { ...context(now), output, emit: () => undefined });
    const planned = (JSON.parse(output.text) as { pipelines: { slices: number }[] }).pipelines;
    const { summary } = await ran({ ...given, pipelines: [pipeline] }, { clock: now });
    const [[closed] = []] = await rowsOf(root, "SELECT count(*) FROM groups WHERE ended_at > '2026-02-01'");
    expect(summary.pipelines[pipeline]).toMatchObject({
      slices: Number(closed),
      rows: { settlement_reports: Number(closed) },
    });
    expect(planned).toMatchObject([{ slices: Number(closed) }]);
    const totals =
      'SELECT count(*) FROM settlement_reports JOIN groups ON groups.ended_at = settlement_reports.ended_at ' +
      'AND groups.original_total = total_amount';
    expect(await rowsOf(root, totals)).toEqual([[closed]]);
    await compact({ lake: root, account: undefined, pipelines: [] }, context(now));
    const certificate = await verified({ root, clock: now });
    expect([certificate.code, found(certificate)]).toEqual([0, []]);
  });
});

function context(at: Clock) {
  return { clock: at, signal: new AbortController().signal, emit: () => undefined };
}
