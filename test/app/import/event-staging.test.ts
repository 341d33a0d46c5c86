import fc from 'fast-check';
import { expect, test } from 'vitest';
import { RawMemory } from '../../../src/app/import/event-staging.js';

test('events stay as they were received when their page is written over, in the memory or beyond it', () => {
  const texts = fc.array(fc.string({ unit: 'grapheme', maxLength: 30 }), { maxLength: 20 });
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 300 }), fc.array(texts, { maxLength: 3 }), (size, parts) => {
      const raws = new RawMemory(size);
      for (const events of parts) {
        raws.clear();
        const kept = events.map((text) => {
          const page = Buffer.from(`[${text}]`);
          const raw = raws.keep(page, 1, page.length - 1);
          page.fill('x');
          return raw;
        });
        expect(kept.map(({ page, start, end }) => page.toString('utf8', start, end))).toEqual(events);
      }
    }),
  );
});
