import { formatCount } from '../../../core/text/amounts.js';
import type { CheckDefinition, Comparison } from '../common/check.js';
import eventCounts from '../statements/event-counts.sql';
import outsideEvents from '../statements/outside-events.sql';

export const eventDatesCheck: CheckDefinition = {
  name: 'event-dates',
  about: 'events by date are within the requested window',
  counts: 'events',
  across: checkDates,
};

async function checkDates({ index, database, certificate }: Comparison): Promise<void> {
  const [counts] = await database.rows(eventCounts);
  certificate.count(eventDatesCheck, Number(counts?.['dated']));
  for (const { file, events, id } of await database.rows(outsideEvents)) {
    const text = `${formatCount(Number(events), 'event')} with a date outside of the window, such as ${String(id)}`;
    certificate.add(eventDatesCheck, 'upstream', index.file(file), text);
  }
}
