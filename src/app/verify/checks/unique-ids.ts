import { formatCount } from '../../../core/text/amounts.js';
import { derivingPipeline } from '../../coverage/damaged-rows.js';
import type { CheckDefinition, Comparison } from '../common/check.js';
import eventCounts from '../statements/event-counts.sql';
import repeatedIds from '../statements/repeated-ids.sql';

export const uniqueIdsCheck: CheckDefinition = {
  name: 'unique-ids',
  about: 'no event_id and no entry occurs twice',
  counts: 'events',
  takenOut: 'file',
  verdict: 'event',
  remedy: ({ table }) => (derivingPipeline(table) === undefined ? undefined : { kind: 'rebuild' }),
  across: checkIds,
};

/** Reports ids of events that occur more than once. */
async function checkIds({ index, database, certificate }: Comparison): Promise<void> {
  const [counts] = await database.rows(eventCounts);
  certificate.count(uniqueIdsCheck, Number(counts?.['events']));
  for (const { file, other, ids, id, fault } of await database.rows(repeatedIds)) {
    const beside = file === other ? '' : `, also in ${index.file(other).file}`;
    const text = `${formatCount(Number(ids), 'event id')} more than once, such as ${String(id)}${beside}`;
    certificate.add(uniqueIdsCheck, fault === true ? 'lake' : 'upstream', index.file(file), text);
  }
}
