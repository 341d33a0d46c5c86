import { eventHistory } from '../../sources/finances/model/tables.js';
import type { Tabled } from '../../lake/files/families.js';

/** What `compact` calls the history: it belongs to no pipeline alone. */
export const historyFamily: Tabled = { name: 'event-history', tables: [eventHistory] };
