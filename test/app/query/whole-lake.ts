import type { QueriedLake } from '../../../src/app/query/lake-database.js';

/** What a lake on the local disk with whole files, and without views over its tables, says of each statement. */
export const wholeLake: Omit<QueriedLake, 'tables' | 'lakeFiles'> = {
  faultsFor: () => Promise.resolve(new Map()),
  fetchFor: () => Promise.resolve(false),
  faultOf: (error) => Promise.resolve(error),
  macrosFor: () => [],
};
