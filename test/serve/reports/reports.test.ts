import { describe, expect, test } from 'vitest';
import { isObject, microsOf, textOf } from '../../emulator/seller/reading.js';
import { addressOf, documentOf, paths, reportsOf, rowsOf, settlementReports } from './report-client.js';
import {
  day,
  identifier,
  iso,
  listIn,
  pages,
  paths as financePaths,
  type Query,
  start,
  startSeller,
  transactionsOf,
  v0Payloads,
} from '../transactions/seller-server.js';

const minute = 60_000;

describe('the list of reports', () => {
  test('has a report of each settlement that was closed in 90 days, the newest first', async () => {
    const server = await startSeller();
    const reports = await reportsOf(server);
    const payloads = await v0Payloads(server, '/finances/v0/financialEventGroups', { MaxResultsPerPage: '100' });
    const ends = payloads
      .flatMap((payload) => listIn(payload, 'FinancialEventGroupList'))
      .flatMap((group) => ('FinancialEventGroupEnd' in group ? [textOf(group['FinancialEventGroupEnd'])] : []));
    const reported = reports.map((report) => textOf(report['dataEndTime']));
    const recent = ends.filter((end) => Date.parse(end) > start - 90 * day && Date.parse(end) < start - 6 * 3_600_000);
    expect(recent.length).toBeGreaterThan(20);
    expect(reported).toEqual(expect.arrayContaining(recent));
    expect(ends).toEqual(expect.arrayContaining(reported));
    const created = reports.map((report) => Date.parse(textOf(report['createdTime'])));
    expect(created).toEqual(created.toSorted((a, b) => b - a));
    expect(Math.min(...created)).toBeGreaterThanOrEqual(start - 90 * day);
    for (const [at, end] of reported.entries()) expect(created[at]).toBeGreaterThan(Date.parse(end));
  });

  test('is the same on pages of any size', async () => {
    const server = await startSeller({ events: 100 });
    const all = await reportsOf(server);
    for (const pageSize of ['1', '7']) expect(await reportsOf(server, { pageSize })).toEqual(all);
    const { body } = await server.get(paths.reports, { reportTypes: settlementReports });
    expect(listIn(body, 'reports')).toEqual(all.slice(0, 10));
  });

  test('is limited by type, marketplace, status and creation', async () => {
    const server = await startSeller({ events: 100 });
    const all = await reportsOf(server);
    const query = async (more: Query) => reportsOf(server, more);
    expect(await query({ reportTypes: 'GET_MERCHANT_LISTINGS_ALL_DATA' })).toEqual([]);
    expect(await query({ reportTypes: `GET_MERCHANT_LISTINGS_ALL_DATA,${settlementReports}` })).toEqual(all);
    const japanese = await query({ marketplaceIds: 'A1VC38T7YXB528' });
    expect(japanese.length).toBeGreaterThan(3);
    expect(japanese).toEqual(
      all.filter(({ marketplaceIds }) => JSON.stringify(marketplaceIds) === '["A1VC38T7YXB528"]'),
    );
    expect(await query({ processingStatuses: 'DONE' })).toEqual(
      all.filter((one) => one['processingStatus'] === 'DONE'),
    );
    expect(await query({ processingStatuses: 'CANCELLED,FATAL' })).toEqual([]);
    const [from, to] = [iso(start - 50 * day), iso(start - 20 * day)];
    const between = all.filter(({ createdTime }) => {
      const at = Date.parse(textOf(createdTime));
      return at >= start - 50 * day && at <= start - 20 * day;
    });
    expect(between.length).toBeGreaterThan(5);
    expect(await query({ createdSince: from, createdUntil: to })).toEqual(between);
  });

  test('has a report in progress first, which then has a document', async () => {
    const server = await startSeller({ events: 100 });
    const inProgress = { processingStatuses: 'IN_PROGRESS' };
    for (let minutes = 0; (await reportsOf(server, inProgress)).length === 0; minutes += 5) {
      expect(minutes).toBeLessThan(4 * 1440);
      server.clock.move(5 * minute);
    }
    const [report] = await reportsOf(server, inProgress);
    expect(report).not.toHaveProperty('reportDocumentId');
    server.clock.move(12 * minute);
    const done = (await reportsOf(server)).find(({ reportId }) => reportId === report?.['reportId']);
    expect(done).toMatchObject({ processingStatus: 'DONE' });
    expect(done?.['reportDocumentId']).toMatch(/^amzn1\.spdoc\./);
  });

  test.each<readonly [name: string, query: Query, message: string]>([
    ['without a type', {}, 'reportTypes or nextToken must be specified.'],
    ['from more than 90 days ago', { createdSince: iso(start - 90 * day - 1) }, 'more than 90 days ago'],
    [
      'that ends before it begins',
      { createdSince: iso(start - day), createdUntil: iso(start - 2 * day) },
      'must not be earlier',
    ],
    ['of an unknown status', { processingStatuses: 'DONE,Done' }, 'must be among CANCELLED,'],
    ['of no date', { createdSince: 'yesterday' }, 'must be an ISO 8601 date-time'],
    ['of pages without reports', { pageSize: '0' }, 'from 1 to 100'],
    ['of pages of 101 reports', { pageSize: '101' }, 'from 1 to 100'],
    ['with another token', { reportTypes: undefined, nextToken: 'abcd' }, 'nextToken is not valid'],
    ['with a token and more', { nextToken: 'abcd' }, 'must be sent alone'],
  ])('%s is refused', async (name, query, message) => {
    const server = await startSeller({ events: 100 });
    const type = name === 'without a type' ? {} : { reportTypes: settlementReports };
    const answer = await server.get(paths.reports, { ...type, ...query });
    expect([answer.status, answer.message]).toEqual([400, expect.stringContaining(message)]);
  });
});

describe('a document', () => {
  test.each(['plausible', 'edge-cases'] as const)(
    'of the %s seller adds up to the total of its group',
    async (profile) => {
      const server = await startSeller({ profile });
      const payloads = await v0Payloads(server, '/finances/v0/financialEventGroups', { MaxResultsPerPage: '100' });
      const groups = new Map(
        payloads
          .flatMap((payload) => listIn(payload, 'FinancialEventGroupList'))
          .map((group) => {
            const { OriginalTotal: total } = group;
            if (!isObject(total)) throw new Error('expected a total');
            return [`${textOf(group['FinancialEventGroupStart'])} ${textOf(total['CurrencyCode'])}`, total] as const;
          }),
      );
      const reports = (await reportsOf(server)).filter((report) => report['processingStatus'] === 'DONE');
      const compressed = new Set<unknown>();
      for (const report of reports.slice(0, 12)) {
        compressed.add((await addressOf(server, report))['compressionAlgorithm']);
        const [header, ...lines] = rowsOf((await documentOf(server, report)).text);
        const sum = lines.reduce((total, line) => total + microsOf(line.get('amount') ?? ''), 0n);
        expect(sum).toBe(microsOf(header?.get('total-amount') ?? ''));
        const startTime = textOf(report['dataStartTime']);
        const group = groups.get(`${startTime} ${header?.get('currency') ?? ''}`);
        expect(microsOf(textOf(group?.['CurrencyAmount']))).toBe(sum);
        expect(header?.get('settlement-start-date')).toBe(startTime.replace('T', ' ').replace('Z', ' UTC'));
      }
      expect(compressed).toEqual(new Set([undefined, 'GZIP']));
    },
  );

  test('has the number of the settlement that transactions name, with their shipments', async () => {
    const server = await startSeller();
    const report = (await reportsOf(server)).at(-1);
    if (report === undefined) throw new Error('expected a report');
    const [header, ...lines] = rowsOf((await documentOf(server, report)).text);
    const id = header?.get('settlement-id');
    const transactions = await transactionsOf(server, {
      postedAfter: textOf(report['dataStartTime']),
      postedBefore: textOf(report['dataEndTime']),
    });
    const own = transactions.filter((one) => identifier(one, 'SETTLEMENT_ID') === id);
    const shipments = new Set(own.flatMap((one) => identifier(one, 'SHIPMENT_ID') ?? []));
    expect(shipments.size).toBeGreaterThan(2);
    expect(new Set(lines.map((line) => line.get('shipment-id')).filter((number) => number !== ''))).toEqual(shipments);
    expect(
      await pages(server, financePaths.summary, {
        relatedIdentifierName: 'SETTLEMENT_ID',
        relatedIdentifierValue: id,
      }),
    ).toHaveLength(1);
  });

  test('has an address on another host, valid for five minutes and without credentials', async () => {
    const server = await startSeller({ events: 100 });
    const [report] = await reportsOf(server, { processingStatuses: 'DONE' });
    if (report === undefined) throw new Error('expected a report');
    const address = textOf((await addressOf(server, report))['url']);
    expect(new URL(address).origin).toBe(`http://localhost:${server.server.port}`);
    const status = async (url: string, headers: Record<string, string> = {}) => {
      const answer = await fetch(url, { headers });
      return [answer.status, /<Code>(.*)<\/Code>/.exec(await answer.text())?.[1]];
    };
    expect(await status(address, { 'x-amz-access-token': 'Atza|x' })).toEqual([400, 'InvalidArgument']);
    expect(await status(address, { authorization: 'Basic eDp5' })).toEqual([400, 'InvalidArgument']);
    expect(await status(address.replace(/.$/, '_'))).toEqual([403, 'SignatureDoesNotMatch']);
    expect(await status(address.replace('/amzn1', '/amzn2'))).toEqual([403, 'SignatureDoesNotMatch']);
    server.clock.move(5 * minute);
    expect(await status(address)).toEqual([200, undefined]);
    server.clock.move(1);
    expect(await status(address)).toEqual([403, 'AccessDenied']);
  });

  test('that does not exist is not found', async () => {
    const server = await startSeller({ events: 100 });
    const answer = await server.get(paths.document('amzn1.spdoc.1.4.na.none'));
    expect([answer.status, answer.message]).toEqual([404, 'There is no document with this reportDocumentId.']);
  });
});

test('reports and documents have a quota each', async () => {
  const server = await startSeller({ events: 100, quota: {} });
  const statuses = async (path: string, query: Query, count: number) => {
    const answers = [];
    for (let sent = 0; sent < count; sent++) answers.push(await server.get(path, query));
    return { last: answers.at(-1)?.status, rate: answers[0]?.headers.get('x-amzn-ratelimit-limit') };
  };
  const query = { reportTypes: settlementReports };
  expect(await statuses(paths.reports, query, 10)).toEqual({ last: 200, rate: '0.0222' });
  expect(await statuses(paths.reports, query, 1)).toMatchObject({ last: 429 });
  expect(await statuses(paths.document('none'), {}, 15)).toEqual({ last: 404, rate: '0.0167' });
  expect(await statuses(paths.document('none'), {}, 1)).toMatchObject({ last: 429 });
  server.clock.move(46_000);
  expect(await statuses(paths.reports, query, 1)).toMatchObject({ last: 200 });
  expect(await statuses(paths.document('none'), {}, 1)).toMatchObject({ last: 429 });
});
