import { eventHistory } from '../finances/tables.js';
import type { Tabled } from '../maintenance/families.js';

/** What `compact` calls the history: it belongs to no pipeline alone. */
export const historyFamily: Tabled = { name: 'event-history', tables: [eventHistory] };
