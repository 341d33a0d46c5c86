import { roles } from '../../../../pipelines/all-pipelines.js';
import { transactions } from '../../../sources/finances/api-2024-06-19/transaction-tables.js';

/** The pipelines whose rows `nets-of-transactions.sql` adds up. */
export const paidPipelines = roles.byDate.filter(({ main }) => main.name === transactions.name);

/** Of a settlement whose first days are forgotten. */
export const notComparedText =
  "not compared: the lake has nothing by date of the settlement's first days, which `forget` may have removed";
