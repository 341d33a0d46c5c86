import fc from 'fast-check';
import { expect, test, vi } from 'vitest';
import { withoutRuns } from '../../../core/columns/without-runs.js';
import { LedgerlakeError } from '../../../../src/core/errors.js';
import { KeyNode } from '../../../../src/core/json/key-node.js';
import { createSeller, type ProfileName } from '../../../../src/emulator/seller/seller.js';
import { pageBody } from '../../../../src/serve/api-v0/event-operations.js';
import { addPageDirectly } from '../../../../src/sources/finances/api-v0/direct-page.js';
import { eachEvent, scanPage } from '../../../../src/sources/finances/api-v0/finances-page.js';
import { entryBatch, eventBatch } from '../../../../src/sources/finances/api-v0/event-batches.js';
import { effectiveInstants } from '../../../../src/sources/finances/api-v0/effective-instants.js';
import { eventIds } from '../../../../src/sources/finances/model/event-ids.js';
import { Components } from '../../../../src/sources/finances/api-v0/components.js';
import { Flattener } from '../../../../src/sources/finances/api-v0/flatten.js';
import { DirectFlattener } from '../../../../src/sources/finances/api-v0/flatten-direct.js';
import { attributes } from '../../../../src/sources/finances/api-v0/attributes.js';
import {
  moveWarnings,
  newWarnings,
  SliceRows,
  windowSubject,
} from '../../../../src/sources/finances/model/slice-rows.js';
import { entries, events } from '../../../../src/sources/finances/api-v0/event-tables.js';
import { rowsOf } from '../../../arrow-rows.js';
import { eventsPage } from '../../../reference/event-arbitraries.js';

const dayMs = 86_400_000;
const firstDay = Date.UTC(2025, 0);

/** Pages read one after the other: straight off their bytes where that goes, or scanned. */
class Pages {
  readonly warnings = newWarnings();
  readonly #pageWarnings = newWarnings();
  readonly #rows = new SliceRows(attributes);
  readonly #flattener = new Flattener(this.#rows, this.#pageWarnings);

  constructor() {
    this.#begin();
  }

  #begin(): void {
    this.#rows.begin(windowSubject({ start: firstDay, end: firstDay + dayMs }));
  }

  /** Forgets the rows, as between two parts of an input. */
  clear(): void {
    this.#flattener.clear();
    for (const counts of Object.values(this.warnings)) counts.clear();
    this.#begin();
  }

  addDirectly(body: Buffer): boolean {
    this.#rows.pages++;
    const isAdded = addPageDirectly(body, this.#rows, this.#flattener) !== undefined;
    if (isAdded) moveWarnings(this.#pageWarnings, this.warnings);
    else for (const counts of Object.values(this.#pageWarnings)) counts.clear();
    return isAdded;
  }

  /** Throws LedgerlakeError where it is no page. */
  scan(body: Buffer): void {
    const page = scanPage(body);
    this.#rows.pages++;
    eachEvent(page, (list, event) => {
      this.#flattener.add(page.tape, list, event);
    });
    moveWarnings(this.#pageWarnings, this.warnings);
  }

  /** All columns of both tables, and what was noticed. */
  get found() {
    const finished = { rows: this.#rows, ids: eventIds(this.#rows), effective: effectiveInstants(this.#rows) };
    const order = Array.from({ length: this.#rows.events.length }, (_, row) => row);
    return {
      events: rowsOf(events, eventBatch(events, finished, order)),
      entries: rowsOf(entries, withoutRuns(entries, entryBatch(entries, finished, order))),
      warnings: this.warnings,
    };
  }
}

/** Reads a page both ways behind one that teaches the keys; whether the second one was read directly. */
function compare(first: Buffer, second: Buffer): boolean {
  const direct = new Pages();
  const scanned = new Pages();
  if (!direct.addDirectly(first)) direct.scan(first);
  scanned.scan(first);
  const isDirect = direct.addDirectly(second);
  try {
    scanned.scan(second);
  } catch (error) {
    if (!(error instanceof LedgerlakeError)) throw error;
    expect(isDirect).toBe(false);
  }
  // Of a page that isn't taken in nothing is left.
  expect(direct.found).toEqual(isDirect ? scanned.found : alone(first));
  return isDirect;
}

function alone(body: Buffer): Pages['found'] {
  const pages = new Pages();
  pages.scan(body);
  return pages.found;
}

/** The pages of a synthetic seller's first day. */
async function sellerPages(profile: ProfileName, limit: number): Promise<Buffer[]> {
  const clock = { now: () => firstDay + 1000 * dayMs, sleep: () => Promise.resolve() };
  const seller = createSeller({ seed: 7, events: 400 * 1000, days: 1000, profile }, clock);
  const bodies: Buffer[] = [];
  for (let cursor: string | undefined, isLast = false; !isLast; isLast = cursor === undefined) {
    const page = await seller.events({ start: firstDay, end: firstDay + dayMs }, { cursor, limit, asOf: clock.now() });
    bodies.push(Buffer.from(pageBody('FinancialEvents', page.items, page.next)));
    cursor = page.next;
  }
  return bodies;
}

test.each(['plausible', 'edge-cases'] as const)(
  'pages of a %s seller are read directly, and have the same rows',
  async (profile) => {
    const add = vi.spyOn(DirectFlattener.prototype, 'add');
    const bodies = await sellerPages(profile, 100);
    const direct = new Pages();
    const scanned = new Pages();
    for (const body of [...bodies, ...bodies]) {
      add.mockClear();
      expect(direct.addDirectly(body)).toBe(true);
      scanned.scan(body);
    }
    expect(direct.found).toEqual(scanned.found);
    // By then all keys are known.
    const ends = add.mock.results.map(({ value }) => Number(value));
    expect(ends.filter((end) => end > 0).length / ends.length).toBeGreaterThan(0.98);
    // They stay known to the next rows.
    const slow = (): number => {
      add.mockClear();
      for (const body of bodies) expect(direct.addDirectly(body)).toBe(true);
      return add.mock.results.filter(({ value }) => Number(value) < 0).length;
    };
    const before = slow();
    direct.clear();
    expect(slow()).toBe(before);
    add.mockRestore();
  },
);

const cut = fc.tuple(fc.constantFrom('cut'), fc.nat(), fc.integer({ min: 1, max: 40 }), fc.constant(''));
const copy = fc.tuple(fc.constantFrom('copy'), fc.nat(), fc.integer({ min: 1, max: 80 }), fc.constant(''));
const put = fc.tuple(
  fc.constantFrom('put', 'replace'),
  fc.nat(),
  fc.constant(1),
  fc.constantFrom(
    ...['{', '}', '[', ']', ',', ':', '"', '\\', ' ', '\n', '\0', '0', '1', '9', '-', '+', '.', 'e5', 'E-2', 'null'],
    ...[
      'true',
      'false',
      '00',
      '999999999999',
      '0.0000001',
      '\\u0041',
      '\u00e9',
      '\ud7ff',
      '"a":1,',
      '{"a":',
      '[[',
      '{}',
    ],
    ...['"CurrencyAmount":5,', '"CurrencyCode":"USD",', '{"CurrencyCode":"USD","CurrencyAmount":7}', '"Quantity":"2",'],
    ...['"FeeType":"X",', '"PostedDate":"2025-01-01T00:00:00Z",', '"SellerSKU":null,', '"QuantityShipped":1.5,'],
  ),
);
const mutations = fc.array(fc.oneof(cut, copy, put, put), { minLength: 1, maxLength: 3 });

function mutated(body: Buffer, changes: readonly (readonly [string, number, number, string])[]): Buffer {
  let bytes = body;
  for (const [kind, place, length, text] of changes) {
    const at = place % (bytes.length + 1);
    const end = Math.min(bytes.length, at + length);
    const between =
      kind === 'copy' ? Buffer.concat([bytes.subarray(at, end), bytes.subarray(at, end)]) : Buffer.from(text);
    bytes = Buffer.concat([bytes.subarray(0, at), between, bytes.subarray(kind === 'put' ? at : end)]);
  }
  return bytes;
}

/** More of them show what is rare. */
const runs = Number(process.env['LEDGERLAKE_TEST_MUTATIONS'] ?? 500);

test('a page that was changed somewhere is read directly only where scanning gives the same rows', async () => {
  const bodies = [...(await sellerPages('plausible', 4)), ...(await sellerPages('edge-cases', 4))];
  let direct = 0;
  fc.assert(
    fc.property(fc.nat(bodies.length - 1), mutations, (number, changes) => {
      const body = bodies[number] ?? Buffer.alloc(0);
      if (compare(body, mutated(body, changes))) direct++;
    }),
    { numRuns: runs },
  );
  expect(direct).toBeGreaterThan(runs / 20);
}, 3_600_000);

test('any page that is read directly has the rows that scanning gives', () => {
  fc.assert(
    fc.property(eventsPage, (text) => {
      const body = Buffer.from(text);
      try {
        new Pages().scan(body);
      } catch (error) {
        if (!(error instanceof LedgerlakeError)) throw error;
        return;
      }
      compare(body, body);
      const written = Buffer.from(JSON.stringify(JSON.parse(text)));
      compare(written, written);
    }),
    { numRuns: 300 },
  );
});

/** Bytes that make a string no JSON, whatever is behind them; the last two end it instead. */
const broken = fc.constantFrom(
  ...['\\-', '\\u1x', '\t', '\u0001', '\u001f'].map((text) => Buffer.from(text)),
  ...[[0xf6], [0xe2, 0x82], [0xc0, 0x80], [0xed, 0xa0, 0x80]].map((bytes) => Buffer.from(bytes)),
  ...['"', '"}'].map((text) => Buffer.from(text)),
);

/** Puts bytes at the beginning of some of a page's texts. */
function withBroken(body: Buffer, places: readonly (readonly [number, Buffer])[]): Buffer {
  let bytes = body;
  for (const [place, between] of places) {
    const texts = [...bytes.toString('latin1').matchAll(/":"/g)].map(({ index }) => index + 3);
    const at = texts[place % Math.max(1, texts.length)] ?? bytes.length;
    bytes = Buffer.concat([bytes.subarray(0, at), between, bytes.subarray(at)]);
  }
  return bytes;
}

test('a page with broken texts is not read directly, and scanning gives the rows that its repaired bytes have read directly', async () => {
  const bodies = [...(await sellerPages('plausible', 4)), ...(await sellerPages('edge-cases', 4))];
  const body = fc.oneof(
    { weight: 3, arbitrary: fc.constantFrom(...bodies) },
    eventsPage.map((text) => Buffer.from(text)),
  );
  const places = fc.array(fc.tuple(fc.nat(), broken), { minLength: 1, maxLength: 3 });
  const read = { direct: 0, repaired: 0, holes: 0 };
  fc.assert(
    fc.property(body, places, (good, broken) => {
      const bad = withBroken(good, broken);
      let repaired;
      try {
        new Pages().scan(good);
        repaired = scanPage(bad).tape;
      } catch (error) {
        if (!(error instanceof LedgerlakeError)) throw error;
        expect(new Pages().addDirectly(bad)).toBe(false);
        return;
      }
      const { bytes, repairs } = repaired;
      if (repairs === undefined) return;
      const [direct, scanned] = [new Pages(), new Pages()];
      // A good page before, which teaches the keys, and behind.
      for (const [page, isBad] of [
        [good, false],
        [bad, true],
        [good, false],
      ] as const) {
        if (isBad) expect(direct.addDirectly(bad)).toBe(false);
        const valid = isBad ? Buffer.from(bytes) : page;
        if (!direct.addDirectly(valid)) direct.scan(valid);
        else if (isBad) read.direct++;
        scanned.scan(page);
      }
      // Whether a text was repaired its bytes don't tell.
      const { repaired: events, ...warnings } = scanned.found.warnings;
      expect(direct.found).toEqual({ ...scanned.found, warnings: { ...warnings, repaired: new Map() } });
      if (events.size > 0) read.repaired++;
      if (repairs.holes.length > 0) read.holes++;
    }),
    { numRuns: 300 },
  );
  expect(Math.min(read.direct, read.repaired, read.holes)).toBeGreaterThan(20);
}, 3_600_000);

const mostly = (usual: readonly string[], others: readonly string[]) =>
  fc.oneof({ weight: 12, arbitrary: fc.constantFrom(...usual) }, fc.constantFrom(...others));

/** A component, mostly as the service writes it. */
const component = fc
  .tuple(
    mostly(['Commission', 'FBAPerUnitFulfillmentFee', 'é'], ['', 'T\\u0061x']),
    mostly(['USD', 'EUR'], ['U\\u0053D']),
    mostly(['1', '-2.50', '-0.00', '0.000001'], ['1.5e2', '12345678901', '0.1234567', '01', '"3"', 'null']),
    mostly(['usual'], ['amountFirst', 'third', 'twice', 'typed']),
  )
  .map(([type, code, number, form]) => {
    const money =
      form === 'amountFirst'
        ? `{"CurrencyAmount":${number},"CurrencyCode":"${code}"}`
        : `{"CurrencyCode":"${code}","CurrencyAmount":${number}${form === 'typed' ? ',"FeeType":"Inner"' : ''}}`;
    const third = form === 'third' ? ',"TaxAmount":{"CurrencyCode":"USD","CurrencyAmount":9}' : '';
    return `{"FeeType":"${type}",${form === 'twice' ? '"FeeType":"Other",' : ''}"FeeAmount":${money}${third}}`;
  });

test('components whose bytes are known have the rows that scanning gives, in whatever order they come', () => {
  const at = vi.spyOn(Components.prototype, 'at');
  const item = fc.array(component, { maxLength: 6 }).map((of) => `{"ItemFeeList":[${of.join()}]}`);
  const event = fc.tuple(fc.array(item, { maxLength: 4 }), fc.array(component, { maxLength: 3 }));
  const page = fc
    .array(event, { minLength: 1, maxLength: 4 })
    .map((of) => of.map(([items, own]) => `{"ShipmentItemList":[${items.join()}],"ShipmentFeeList":[${own.join()}]}`))
    .map((of) => Buffer.from(`{"payload":{"FinancialEvents":{"ShipmentEventList":[${of.join()}]}}}`));
  fc.assert(
    fc.property(fc.array(page, { maxLength: 6 }), fc.nat(6), (bodies, cleared) => {
      const direct = new Pages();
      let scanned = new Pages();
      for (const [number, body] of bodies.entries()) {
        if (number === cleared) {
          direct.clear();
          scanned = new Pages();
        }
        try {
          new Pages().scan(body);
        } catch (error) {
          if (!(error instanceof LedgerlakeError)) throw error;
          expect(direct.addDirectly(body)).toBe(false);
          continue;
        }
        if (!direct.addDirectly(body)) direct.scan(body);
        scanned.scan(body);
      }
      expect(direct.found).toEqual(scanned.found);
    }),
    { numRuns: 500 },
  );
  expect(at.mock.results.filter(({ value }) => value !== undefined).length).toBeGreaterThan(500);
  at.mockRestore();
});

test('to look for components takes no longer where elements have thousands of keys', () => {
  const elements = Array.from({ length: 5000 }, (_, key) => `{"Key${key}":1}`).join();
  const body = Buffer.from(
    `{"payload":{"FinancialEvents":{"ShipmentEventList":[{"ShipmentItemList":[${elements}]}]}}}`,
  );
  const pages = new Pages();
  expect(pages.addDirectly(body)).toBe(true);
  const compare = vi.spyOn(KeyNode.prototype, 'isWritten');
  expect(pages.addDirectly(body)).toBe(true);
  expect(compare.mock.calls.length).toBeLessThan(5000 * 100);
  compare.mockRestore();
});

test('a flattener that is cleared gives the rows of a new one, whatever it has read before', async () => {
  const bodies = [...(await sellerPages('plausible', 4)), ...(await sellerPages('edge-cases', 4))];
  const cleared = new Pages();
  fc.assert(
    fc.property(fc.array(fc.oneof(eventsPage, fc.constantFrom(...bodies.map(String))), { maxLength: 5 }), (texts) => {
      cleared.clear();
      const fresh = new Pages();
      for (const text of texts) {
        const body = Buffer.from(text);
        try {
          if (!cleared.addDirectly(body)) cleared.scan(body);
        } catch (error) {
          if (!(error instanceof LedgerlakeError)) throw error;
          continue;
        }
        fresh.scan(body);
      }
      expect(cleared.found).toEqual(fresh.found);
    }),
    { numRuns: 300 },
  );
});

test('a flattener that has met more paths than any service has forgets them once it is cleared', () => {
  const add = vi.spyOn(DirectFlattener.prototype, 'add');
  const page = (event: string): Buffer =>
    Buffer.from(`{"payload":{"FinancialEvents":{"ShipmentEventList":[${event}]}}}`);
  const isSlow = (pages: Pages): boolean => {
    add.mockClear();
    expect(pages.addDirectly(page('{"PostedDate":"2025-01-01T00:00:00Z"}'))).toBe(true);
    return Number(add.mock.results[0]?.value) < 0;
  };
  const pages = new Pages();
  expect([isSlow(pages), isSlow(pages)]).toEqual([true, false]);
  pages.clear();
  expect(isSlow(pages)).toBe(false);
  expect(pages.addDirectly(page(`{${Array.from({ length: 20_001 }, (_, key) => `"Key${key}":1`).join()}}`))).toBe(true);
  pages.clear();
  expect([isSlow(pages), isSlow(pages)]).toEqual([true, false]);
  add.mockRestore();
});
